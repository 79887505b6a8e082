"""A reader: a second stage that reads a question and the units that lead together, and scores these again.

`layout` lays them out as segments, `file` is what training wrote, `head` scores units by hidden states, `reading` runs
all that, and `use` says how a profile uses it.
"""
