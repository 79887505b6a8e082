"""Reads repositories with the git program, which runs nothing that a repository names."""
