"""The workspace index: which files count, their units and symbols, and what is cached about them on disk."""
