"""The description of a language that Winnow needs to cut its files into units."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

# About 500 tokens: small enough to choose from, large enough to make sense alone. Entries of data do so with less.
PIECE_BYTES = 2000
DATA_PIECE_BYTES = 500
_NOT_BLANK = re.compile(rb"[^\r\n]")


@dataclass(frozen=True)
class DocComment:
    """Layout of documentation: an opening and a closing line, and the prefix of each line between them.

    It stands above the definition or, where `inside`, before the first statement of its body without lines of its own.
    """

    prefix: str = ""
    opening: str = ""
    closing: str = ""
    inside: bool = False


STARRED = DocComment(" * ", "/**", " */")
SLASHES = DocComment("/// ")


@dataclass(frozen=True)
class Language:
    """A grammar, and three tree-sitter queries over it; a query that does not apply stays empty.

    `suffixes` (with their dot) and `filenames` are lower case; no two languages may share one. `grammar` returns what
    `tree_sitter.Language` takes. It is called on first use, so that importing a language loads no native code.

    `outline` captures what becomes a unit:
      `@definition.function`, `@definition.method` with a `@name`: a unit. A function directly in a class is a method.
      `@definition.class` with a `@name`: a unit for the class's header, and one for each function and class in it.
      `@owner`, beside a `@name`: the type that a method belongs to if it is defined outside of it.
      `@definition.symbol` with a `@name`: no unit, but a name for the symbol table.
      `@import`: consecutive imports become one unit.
      `@end`, beside a definition: the node that ends it, where the grammar has no node for the whole.
      `@heading.N` with a `@name`: starts a section, which ends before the next heading of level N or less.
      `@leading`: a comment, decorator or attribute; it belongs to the definition on the next line, or, with
          `@leading.apart`, on the one after that if it is no longer than a piece: else it is the module's.
    If several nodes are captured with the same `@name`, the widest counts. So capture a decorated or exported
    definition with its wrapper, beside the plain one.

    `statements` captures `@statement`, the nodes between which an oversized unit may be cut; `references` captures
    `@reference`, the identifiers that may name a definition elsewhere; `bodies` captures `@body`, the statements of a
    definition, where its documentation stands inside them.

    Queries must not use predicates (`#eq?`): py-tree-sitter 0.26 crashes on them if a tree was read through a callback.
    Where definitions or imports are plain calls, `keywords` has the words that a capture may have, by its name.

    `packed` languages have what would change the units of the others: clauses of a function on consecutive lines are
    one unit, white space in a name is one blank, and a qualified reference is to its last part. In `dotted` ones a dot
    is a part of a name.

    `documentation` says how a definition is documented.

    What stands outside definitions is cut into pieces of at most `piece_bytes`, where lines allow it.
    Text in which `unsafe` is found would crash the grammar's native code, and is never given to it. The grammar sees
    blanks where the groups of `blanked` are found: macros that no grammar can know.
    """

    name: str
    suffixes: tuple[str, ...]
    grammar: Callable[[], object]
    outline: str = ""
    statements: str = ""
    references: str = ""
    bodies: str = ""
    documentation: DocComment | None = None
    filenames: tuple[str, ...] = ()
    keywords: Mapping[str, Collection[str]] = field(default_factory=dict, hash=False)
    packed: bool = False
    dotted: bool = False
    piece_bytes: int = PIECE_BYTES
    unsafe: re.Pattern[bytes] | None = None
    blanked: re.Pattern[bytes] | None = None

    def seen(self, text: bytes) -> bytes:
        """The text that the grammar sees, as long as the text itself and in the same lines."""
        return text if self.blanked is None else self.blanked.sub(_blank, text)


def _blank(found: re.Match[bytes]) -> bytes:
    text = found[0]
    for number in range(1, found.re.groups + 1):
        start, end = (at - found.start() for at in found.span(number))
        text = text[:start] + _NOT_BLANK.sub(b" ", text[start:end]) + text[end:] if found[number] else text
    return text


def from_pack(name: str) -> Callable[[], object]:
    """A function that returns a grammar of tree-sitter-language-pack, which this imports."""
    return lambda: importlib.import_module("tree_sitter_language_pack").get_binding(name)


def from_package(package: str, function: str = "language") -> Callable[[], object]:
    """A function that imports `package` and returns the grammar that `package.function()` gives."""
    return lambda: getattr(importlib.import_module(package), function)()
