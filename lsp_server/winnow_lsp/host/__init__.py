"""Shared by servers and commands: models loaded once, a queue for them, and settings."""
