"""What the server knows of one client: settings, folders, documents, and the index it keeps for them."""
