"""How often the code that a question needs is kept: pinned repositories, tasks, methods, and figures.

docs/relevance.md explains what is measured. A task is a kind of question with known answers (`tasks/`), a method a way
of choosing code (`methods/`). Each is a module that is found by being in its folder.
"""
