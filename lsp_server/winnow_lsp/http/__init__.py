"""`winnow serve --http`: OpenAI's and Anthropic's APIs for other programs.

`guard` listens and decides who may ask, `app` routes, `answering` waits, `serving` answers. Each API
is a `dialect`, which reads requests and words replies: completions (`requests`, `conversation`, `replies`),
`responses`, and `messages`. `embeddings` has vectors of texts.
"""
