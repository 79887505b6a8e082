"""Conversations of other programs, with what is long in them cut down to what the last question needs.

`passages` sees texts and code blocks as files, `compress` scores and keeps their units, `complete` has the target
answer, `calls` tells what it says from what it calls, in the `forms` that models use; `turn` notes both.
"""
