"""Training of the reranker, which reads the question and the leading units together and scores these again.

`lists` asks the first stage, `choosing` makes candidates of its lists, `model` scores them, `trainer` trains it,
`recording` and `judging` judge it.
"""
