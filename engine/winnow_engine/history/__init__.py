"""Commits that shaped some lines, and commits that a question is about."""
