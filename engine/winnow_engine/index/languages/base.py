"""What Winnow must know of a language to cut its files into units."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass

# About 500 tokens: small enough to choose by, large enough to make sense alone. Entries of data do so in less.
PIECE_BYTES = 2000
DATA_PIECE_BYTES = 500


@dataclass(frozen=True)
class Language:
    """A grammar and three tree-sitter queries over it.

    `suffixes` (with their dot) and `filenames` are lower case. `grammar` returns what `tree_sitter.Language`
    takes; it is called on first use, so that importing a language loads no native code.

    `outline` captures what makes units:
      `@definition.function`, `@definition.method`, `@definition.class` with a `@name`: a unit, or for a class
          its header with a unit per function in it. Of several nodes captured with the same name node the
          widest counts, so that a decorated or exported definition is captured with its wrapper.
          A `@definition.function` directly in a class is a method.
      `@owner`: beside a `@name`, the type the method belongs to when it stands outside of it.
      `@definition.symbol` with a `@name`: defines a name for the symbol table, and no unit.
      `@import`: consecutive ones become an imports unit. Where imports are plain calls, `@importer` beside
          it captures the called name, which must be one of `importers`.
      `@heading.N` with a `@name`: starts a section that ends before the next heading of a level <= N.
      `@leading`: a comment, decorator or attribute, which belongs to the definition on the next line.
    Queries have no predicates (`#eq?`): in py-tree-sitter 0.26 these crash on a tree read through a callback.
    `statements` captures `@statement`, the nodes between which an oversized unit may be cut.
    `references` captures `@reference`, the identifiers that may name a definition elsewhere.

    What is no definition is cut to pieces of at most `piece_bytes`, where lines allow.

    A text in which `unsafe` is found crashes the grammar's native code, and is never given to it.
    """

    name: str
    suffixes: tuple[str, ...]
    grammar: Callable[[], object]
    outline: str = ""
    statements: str = ""
    references: str = ""
    filenames: tuple[str, ...] = ()
    importers: tuple[str, ...] = ()
    piece_bytes: int = PIECE_BYTES
    unsafe: re.Pattern[bytes] | None = None


def from_package(package: str, function: str = "language") -> Callable[[], object]:
    """The loader of the grammar that `package.function()` returns."""

    def load() -> object:
        return getattr(importlib.import_module(package), function)()

    return load
