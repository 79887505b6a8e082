"""Sets agents up to start `winnow mcp`: their configuration gets an entry, and what else is in it stays as it is."""
