"""State of one client: settings, folders, documents, and their index."""
