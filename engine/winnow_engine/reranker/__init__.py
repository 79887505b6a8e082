"""The second stage: a reranker reads the question together with the leading units, and scores these again.

`background` opens that of a profile, loads and times it, and `reranking` chooses the units that it reads.
`layout` lays them out as segments, `reranker` runs these through the layers, and `file` reads the weights
that training wrote, with the head that scores units by hidden states.
"""
