"""The target on a server. Start reading at `target`.

`address` reads its URL. `model_lookup` finds the model and how its tokens are counted. `openai_api` and `ollama` write
a request, `client` sends it, and `failures` names what goes wrong. `framing`, `chunks` and `reply` read the streamed
answer. `discovery` finds servers on this machine.
"""
