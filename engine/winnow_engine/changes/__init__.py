"""Changes of the working tree, the index, a commit, a range or a branch, as files, lines and units."""
