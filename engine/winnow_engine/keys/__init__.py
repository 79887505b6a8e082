"""The keys that the encoder made of each file: cached, located, put together for a workspace."""
