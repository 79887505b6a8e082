"""How often what a question needs is kept: pinned repositories, families of questions, rows of scoring, figures.

docs/relevance.md explains the method. Only `winnow bench` and the calibration import this package.
"""
