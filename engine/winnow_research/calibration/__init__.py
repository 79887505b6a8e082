"""Fits what a drafter needs on the calibration repositories: its scoring heads, and the weights of the fusion.

docs/training.md says how to use it. Only `winnow calibrate` imports this package.
"""
