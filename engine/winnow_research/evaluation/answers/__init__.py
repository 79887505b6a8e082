"""Is the target's answer right? Functions to give back, and facts to choose, from what each way of reading shows it.

docs/results/2026-11-23-answers.md explains the method.
"""
