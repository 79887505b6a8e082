"""Changes of the code: what is asked of the target for one, and how its answer becomes an edit of exact lines."""
