"""What a target on another server is made of.

`address` reads its URL, `client` speaks HTTP and names what goes wrong (`failures`), `sse`, `chunks` and
`reply` read the streamed answer, `served` finds out about the model, `counting` about its tokens.
"""
