"""One family of questions, one module of this package.

A module that defines `FAMILY` is found by being here: to add a family, add its module.
"""

from __future__ import annotations

import importlib
import pkgutil

from winnow_research.evaluation.tasks.base import Family


def all_families() -> dict[str, Family]:
    """Every family by name, in the order of their module names."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    families = [getattr(module, "FAMILY", None) for module in modules]
    return {family.name: family for family in families if family}
