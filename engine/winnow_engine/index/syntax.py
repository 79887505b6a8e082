"""A text parsed by tree-sitter, and the queries of its language over it."""

from __future__ import annotations

import re
import time
from functools import cache, cached_property

import tree_sitter
from tree_sitter import Node, Query, QueryCursor

from winnow_engine.index.languages.base import Language

# Python parses at 8 MB/s on one core, but 100 KB of `<` keep Kotlin's grammar busy for 12 s.
TIME_LIMIT_S = 5.0

# A query takes time quadratic in the children of an ERROR node: 0.3 s for 25,000, 4.6 s for 100,000.
_MAX_ERROR_CHILDREN = 20_000

# Queries take time quadratic in the depth as well: 60 s for 100,000 levels. Real code has under 200.
_MAX_DEPTH = 2000

_NO_CODE = re.compile("comment|string|heredoc|content|text")
_CHUNK = 1 << 14  # bytes to read at once

Captures = dict[str, list[Node]]


class GrammarError(Exception):
    """A grammar takes too long for a text, or makes next to nothing of it."""


class Syntax:
    """One parsed text. Raises GrammarError if its parse takes over TIME_LIMIT_S, or a query of it would."""

    def __init__(self, language: Language, text: bytes) -> None:
        if language.unsafe and language.unsafe.search(text):
            raise GrammarError(f"the {language.name} grammar cannot be given this text")
        self.text = text
        self.language = language
        # Make's grammar needs the last line's end, and Perl's would search on for it for ever.
        end = b"\n" if language.packed and text and not text.endswith(b"\n") else b""
        self._root = _parse(language, language.seen(text) + end).root_node
        errors = [node for node in (self._root, *self._root.children) if node.is_error] if self._root.has_error else []
        if any(node.child_count > _MAX_ERROR_CHILDREN for node in errors):
            raise GrammarError(f"the {language.name} grammar makes next to nothing of this text")

    def text_of(self, node: Node) -> str:
        """The text of a node, with U+FFFD for what is not UTF-8."""
        return self.text[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def outline(self) -> list[Captures]:
        """One group of captures for each match of the language's `outline` query that has its `keywords`."""
        matches = self._cursor(self.language.outline).matches(self._root)
        return [captures for _, captures in matches if self._has_keywords(captures)]

    def _has_keywords(self, captures: Captures) -> bool:
        keywords = self.language.keywords
        asked = [capture for capture in captures if capture in keywords] if keywords else ()
        return all(self.text_of(node) in keywords[capture] for capture in asked for node in captures[capture])

    def references(self) -> list[Node]:
        """Every identifier of the text."""
        return self._captured(self.language.references, "reference")

    def leaf(self, start: int, end: int) -> Node | None:
        """The leaf of exactly these bytes, unless it is of a comment or text."""
        node = self._root.descendant_for_byte_range(start, end)
        exact = node is not None and (node.start_byte, node.end_byte, node.child_count) == (start, end, 0)
        return node if exact and node and not _NO_CODE.search(node.type) else None

    @cached_property  # querying a part takes almost as long as querying the whole text
    def statements(self) -> list[tuple[int, int]]:
        """(first byte, −end) of each statement at any depth, in order: one that holds another comes first."""
        nodes = self._captured(self.language.statements, "statement")
        return sorted((node.start_byte, -node.end_byte) for node in nodes)

    def bodies(self) -> list[Node]:
        """The bodies of all definitions in order of position, where the language documents inside of them."""
        return sorted(self._captured(self.language.bodies, "body"), key=lambda node: node.start_byte)

    def errors(self) -> int:
        """Number of places where the grammar skipped text or added some; a definition without a body is one."""
        count = sum(not body.named_child_count for body in self.bodies())
        open_ = [self._root] if self._root.has_error else []
        while open_:
            node = open_.pop()
            count += node.is_error or node.is_missing
            open_.extend(child for child in node.children if child.has_error or child.is_missing)
        return count

    def _captured(self, query: str, name: str) -> list[Node]:
        # Without a query it would walk the whole tree all the same.
        return self._cursor(query).captures(self._root).get(name, []) if query else []

    def _cursor(self, query: str) -> QueryCursor:
        cursor = QueryCursor(_query(self.language, query))
        cursor.set_max_start_depth(_MAX_DEPTH)
        return cursor


def _parse(language: Language, text: bytes) -> tree_sitter.Tree:
    """The tree of a text.

    A grammar's scanner may keep reading without ever reporting progress. So past the time limit all it reads is
    blanks, not nothing: the end of the text in the middle of a character crashes py-tree-sitter 0.26.
    """
    view, blanks = memoryview(text), memoryview(b" " * len(text))
    end = time.monotonic() + TIME_LIMIT_S

    def late(*_: object) -> bool:
        return time.monotonic() > end

    def read(at: int, _: object) -> memoryview:
        return (blanks if late() else view)[at : at + _CHUNK]

    try:
        tree = tree_sitter.Parser(_grammar(language)).parse(read, progress_callback=late)
    except ValueError:  # the parse was stopped
        tree = None
    if tree is None or late():
        raise GrammarError(f"the {language.name} grammar took over {TIME_LIMIT_S} s")
    return tree


@cache
def _grammar(language: Language) -> tree_sitter.Language:
    return tree_sitter.Language(language.grammar())


@cache
def _query(language: Language, source: str) -> Query:
    return Query(_grammar(language), source)
