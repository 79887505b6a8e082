"""What changed: in the working tree, what is staged, a commit, a range or a branch; as files, lines and units."""
