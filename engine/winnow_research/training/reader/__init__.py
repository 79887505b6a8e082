"""A joint reader: it reads the question and the units that lead together and scores these again.

`lists` asks the first stage, `choosing` makes candidates of its lists, `layout` lays them out as segments, `model`
scores them, `trainer` trains it.
"""
