"""One language, one module of this package: its suffixes, its grammar and its tree-sitter queries.

A module that defines `LANGUAGE` is found by being here. To add a language, add its module, and a sample with
the expected units under `tests/unit/index/samples/`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath

from winnow_engine.index.languages.base import Language


def for_path(path: str) -> Language | None:
    """The language of a file by its name or suffix, ignoring case; None when no grammar is known."""
    name = PurePosixPath(path).name.lower()
    by_name = _by_name()
    return by_name.get(name) or by_name.get(PurePosixPath(name).suffix)


@cache
def all_languages() -> tuple[Language, ...]:
    """Every language of this package, in the order of their module names."""
    return tuple(_discover())


def _discover() -> Iterator[Language]:
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        language = getattr(importlib.import_module(module.name), "LANGUAGE", None)
        if language is not None:
            yield language


@cache
def _by_name() -> dict[str, Language]:
    return {name: language for language in all_languages() for name in (*language.suffixes, *language.filenames)}
