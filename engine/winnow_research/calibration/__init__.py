"""Fits what a drafter needs on the calibration repositories: its scoring heads, and the weights of the fusion.

docs/relevance.md explains the method. Only `winnow calibrate` imports this package.
"""
