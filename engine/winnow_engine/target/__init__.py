"""The model that answers: one contract (`base`), one implementation on llama.cpp (`llama`).

Requests go `llama` (any thread) → `session` (the owner thread) → `kv`, `decoding` → `context`.
"""
