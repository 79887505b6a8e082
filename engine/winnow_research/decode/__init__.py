"""How fast the target decodes with each draft, and whether its answers stay the same: prompts (`loads`) and `bench`."""
