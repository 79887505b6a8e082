"""Is the target's answer right? It gives back functions and chooses among facts, from the code that each method keeps.

docs/results/answers.md explains what is measured.
"""
