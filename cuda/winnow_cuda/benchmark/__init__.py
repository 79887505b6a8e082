"""What `winnow bench` measures."""
