"""A low-rank update (LoRA, Hu et al. 2021) that teaches a target to answer questions about code."""
