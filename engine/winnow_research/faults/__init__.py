"""Faults for an index, and what must hold after each: `winnow bench faults` injects them."""
