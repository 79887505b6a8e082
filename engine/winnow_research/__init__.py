"""How good and how fast Winnow is, and how its drafter is trained: evaluation, calibration, training, benchmarks.

Uses the engine as anyone would; nothing that answers questions imports it.
"""
