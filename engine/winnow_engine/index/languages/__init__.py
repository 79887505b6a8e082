"""Languages: a module of this package defines one `LANGUAGE` or several `LANGUAGES`, and is found by being here.

CONTRIBUTING.md says how to add one. To see the nodes that queries can capture, print the tree of a file, here Zig's:

    python -c "import sys, tree_sitter_language_pack as pack
    print(pack.get_parser('zig').parse(sys.stdin.buffer.read()).root_node)" < file.zig
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath

from winnow_engine.index.languages.base import Language


def for_path(path: str) -> Language | None:
    """The language of a file by its name or suffix, ignoring case; None if no language has it."""
    name = PurePosixPath(path).name.lower()
    by_name = _by_name()
    return by_name.get(name) or by_name.get(PurePosixPath(name).suffix)


@cache
def all_languages() -> tuple[Language, ...]:
    """Every language of this package, in the order of their module names."""
    return tuple(_discover())


def _discover() -> Iterator[Language]:
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        found = vars(importlib.import_module(module.name))
        yield from found.get("LANGUAGES", ())
        if "LANGUAGE" in found:
            yield found["LANGUAGE"]


@cache
def _by_name() -> dict[str, Language]:
    return {name: language for language in all_languages() for name in (*language.suffixes, *language.filenames)}
