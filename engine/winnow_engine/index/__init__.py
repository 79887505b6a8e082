"""The workspace index: files that count, their units and symbols, and the caches of these on disk."""
