"""The model that answers: one contract (`base`), two implementations (`local` and `remote`), and `opening` for both.

A request to a local target passes `local/target` (any thread), `local/session` (the owner thread), `llama/kv_cache` and
`local/decoding`. `drafts` guess how its answer goes on, `snapshots` keep what it has read, `residency` decides where it
lives. A request to a server passes `remote/target` and `remote/client`.
"""
