"""The target on a server. Start reading at `target`.

`address` reads its URL. `served` finds the model and `counting` its tokens. `body` writes a request, `client` sends it,
and `failures` names what goes wrong. `sse`, `chunks` and `reply` read the streamed answer.
"""
