"""`winnow serve --http`: OpenAI's and Anthropic's APIs for other programs.

`guard` decides who may ask, `app` routes, `answering` waits, `serving` answers, `listening` is the web server. Each API
is a `dialect`, which reads requests and words replies: chat completions (`requests`, `conversation`, `replies`),
`responses`, `messages`, and `completions`. `embeddings` has vectors of texts.
"""
