"""Conversations of other programs: long ones are cut down to what the last question needs, then continued.

`fitting` decides what is sent: all, what was sent before and what is new, or a new choice. `passages` turns texts and
code blocks into files and back, `compress` scores their units and keeps the best, `complete` has the target answer.
`calls` separates an answer's text from its calls of tools and decodes these; `turn` records both.
"""
