"""Languages: each module of this package defines one `LANGUAGE`, and is found by being here.

To add Zig, for example:

1. Add its grammar's package, `tree-sitter-zig`, to the dependencies in `pyproject.toml`, and install it.
2. Write `zig.py` here. `base.py` explains what a language consists of; `go.py` is a good example. To see the nodes that
   queries can capture, print the tree of a file:

       python -c "import sys, tree_sitter as t, tree_sitter_zig as g
       print(t.Parser(t.Language(g.language())).parse(sys.stdin.buffer.read()).root_node)" < file.zig

3. Add a small but realistic sample, `tests/unit/index/samples/zig.zig`, and the units it is to be cut into,
   `tests/unit/index/expected_units/zig.zig.txt`. `pytest tests/unit/index` compares the two; without the second file it
   shows the units to check and put there.
4. Count up `NAMESPACE` in `index/indexing.py`, so that Zig files indexed before are cut again.
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
        language = getattr(importlib.import_module(module.name), "LANGUAGE", None)
        if language is not None:
            yield language


@cache
def _by_name() -> dict[str, Language]:
    return {name: language for language in all_languages() for name in (*language.suffixes, *language.filenames)}
