"""What a repository's history holds, asked of the git program, which runs nothing that the repository names."""
