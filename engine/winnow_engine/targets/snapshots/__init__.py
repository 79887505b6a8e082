"""Snapshots of what a local target has read: the files, the writer, and the policy that says when to use them."""
