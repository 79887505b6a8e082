"""Is the target's answer right? Functions to give back, and facts to choose, from what each way of reading shows it.

docs/relevance.md explains the method.
"""
