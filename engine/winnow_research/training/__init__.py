"""Training of the drafter's adapter, and of drafts in `draft`: `winnow train`. docs/training.md has the recipes."""
