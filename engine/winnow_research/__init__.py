"""Measures how good and how fast Winnow is, and trains its drafter: evaluation, calibration, training, benchmarks.

The package uses the engine as anyone would. Nothing that answers questions imports it.
"""
