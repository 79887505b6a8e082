"""Faults for an index, and what must hold after each: `python tests/bench/faults.py` injects them."""
