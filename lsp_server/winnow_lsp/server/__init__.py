"""The language server: translates the Language Server Protocol for the engine, and schedules its work."""
