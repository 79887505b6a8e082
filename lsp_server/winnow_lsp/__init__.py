"""Winnow's outer edge: the command line and, over the same engine, the language server."""
