"""A reader: a second stage that reads a question and the units that lead together, and scores these again.

`layout` lays them out as segments, `file` is what training wrote, `head` scores units by hidden states, and `reading`
runs all that. `use` says how a profile uses it, `background` loads it for one.
"""
