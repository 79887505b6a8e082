"""How fast a workspace is indexed, what the index takes, and how long its questions wait, by size."""
