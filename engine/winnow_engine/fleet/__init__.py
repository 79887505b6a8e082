"""Several drafters encode one workspace: a process a GPU, or a share of the cores, here or on a Ray cluster."""
