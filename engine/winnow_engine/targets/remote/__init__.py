"""The target on a server. Start reading at `target`.

`address` reads its URL. `model_lookup` finds the model and `counting` its tokens. `body` writes a request, `client`
sends it, and `failures` names what goes wrong. `framing`, `chunks` and `reply` read the streamed answer. `api` has
OpenAI's API, `ollama` Ollama's own, and `discovery` finds servers on this machine.
"""
