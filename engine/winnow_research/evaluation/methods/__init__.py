"""Ways of choosing code for a question, which the evaluation compares; a module each, or one for a few alike.

To add one, add a module with a class that follows `base.Method`, and a function `methods(resources)` that returns what
it offers, like `lexical.py`. It is found by being here. Tables list methods in the order of module names.
"""

from __future__ import annotations

from pathlib import Path

from winnow_research.evaluation.discovery import modules_of
from winnow_research.evaluation.methods.base import Method, Resources


def all_methods(drafter: Path) -> tuple[Method, ...]:
    """Every method, for the drafter in GGUF file `drafter`; nothing is loaded before a method is used."""
    resources = Resources(drafter)
    offered = (module.methods(resources) for module in modules_of(__name__) if hasattr(module, "methods"))
    return tuple(method for methods in offered for method in methods)
