"""The model that answers: one contract (`base`), two implementations, and `opening`, which knows both.

On llama.cpp requests go `llama` (any thread) → `session` (the owner thread) → `kv`, `decoding` → `context`; on a
server `http` → `remote`.
"""
