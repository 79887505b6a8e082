"""Training of a draft: `prompts` makes the data, `target` answers and gives features, `network` is trained on them."""
