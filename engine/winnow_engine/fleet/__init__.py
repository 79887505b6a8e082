"""Several drafters encode one workspace, as actors of Ray: one per GPU, or each with a share of the cores."""
