"""What `winnow bench kernels` and `winnow bench drafter` measure: single ops, and the whole encoder."""
