"""Training of the drafter's adapter: `winnow train`. docs/training.md has the recipe."""
