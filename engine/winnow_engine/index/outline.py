"""A parsed file, and its definitions with their lines: its language's `outline` captures, put in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from winnow_engine.core import UnitKind
from winnow_engine.index import languages
from winnow_engine.index.languages.base import PIECE_BYTES
from winnow_engine.index.lines import Lines, with_lf
from winnow_engine.index.syntax import Captures, GrammarError, Syntax

# Deeper classes stay part of the unit around them. No real code nests so deep; this bounds the cost of hostile code.
_MAX_NESTING = 20

_BESIDE = re.compile(rb"[^\n][ \t]*")  # the end of a node, up to another on its line
_QUOTED = re.compile(r"([\"'])(.*?)\1", re.DOTALL)  # but not the end of `fold'`, which Haskell has
_EXPORTS = ("module.exports", "exports")  # of Node.js: what is in them is named by its file
_KINDS = {
    "definition.function": UnitKind.FUNCTION,
    "definition.method": UnitKind.METHOD,
    "definition.class": UnitKind.CLASS_HEADER,
}


@dataclass
class Definition:
    """A function, method, class or section, on 1-based lines that include its leading comments, inside of `parent`.

    A definition that starts by line `taken`, the last of its name or of one directly inside, is no unit of its own.
    """

    kind: UnitKind
    name: str
    first: int
    last: int
    parent: int | None = None
    taken: int = 0

    @property
    def contains_units(self) -> bool:
        """True if definitions inside this one become units of their own."""
        return self.kind in (UnitKind.CLASS_HEADER, UnitKind.SECTION)


@dataclass
class Outline:
    """Definitions of a file in order of position, each after the one around it.

    `symbols` are all names it defines, also those without a unit, with their line. `leading` maps the last line of each
    comment or attribute that has its lines to itself to its first line; `comments` are all lines of these.
    """

    definitions: list[Definition] = field(default_factory=list)
    symbols: list[tuple[str, int]] = field(default_factory=list)
    imports: set[int] = field(default_factory=set)
    leading: dict[int, int] = field(default_factory=dict)
    comments: set[int] = field(default_factory=set)

    def with_leading(self, line: int, floor: int) -> int:
        """The first line of the comments directly above `line`, all of them below line `floor`."""
        while self.leading.get(line - 1, floor) > floor:
            line = self.leading[line - 1]
        return line


@dataclass(frozen=True)
class _CandidateDefinition:
    kind: UnitKind
    name: str
    name_line: int
    node: Node
    end: Node

    @property
    def size(self) -> int:
        return self.end.end_byte - self.node.start_byte


def read_outline(syntax: Syntax, line_count: int) -> Outline:
    """The outline of a parsed text of `line_count` lines, which end with LF."""
    matches = syntax.outline()
    outline = Outline()
    apart = {node for node in _nodes(matches, "leading.apart") if node.end_byte - node.start_byte <= PIECE_BYTES}
    for node, end in _runs((*_nodes(matches, "leading"), *apart), syntax.text):
        if lines := _own_lines(node, end, syntax.text):
            gap = end in apart and syntax.text.startswith(b"\n\n", end.end_byte)
            outline.leading[lines[1] + gap] = lines[0]
            outline.comments.update(range(lines[0], lines[1] + 1))
    for node in _nodes(matches, "import"):
        first, last = _line_range(node)
        outline.imports.update(range(first, last + 1))
    outline.symbols = list(_symbols(syntax, matches))
    outline.definitions = _nested(_candidates(syntax, matches), outline)
    if syntax.language.packed:
        outline.definitions = _joined(outline.definitions)
    outline.definitions += _sections(syntax, matches, line_count)
    return outline


def _nodes(matches: list[Captures], name: str) -> Iterator[Node]:
    for captures in matches:
        yield from captures.get(name, ())


def _line_range(node: Node) -> tuple[int, int]:
    """The lines of a node; a node that ends at the start of a line does not reach it."""
    first, (end_row, end_column) = node.start_point.row + 1, node.end_point
    return first, max(first, end_row + (end_column > 0))


def _runs(nodes: Iterable[Node], text: bytes) -> list[tuple[Node, Node]]:
    """The first and last of nodes with only blanks between them on a line, as a signature and the comment behind it."""
    runs: list[tuple[Node, Node]] = []
    for node in sorted(nodes, key=lambda one: (one.start_byte, -one.end_byte)):
        end = runs[-1][1].end_byte if runs else -1
        if node.end_byte > end:
            beside = runs and _BESIDE.fullmatch(text, end - 1, node.start_byte)
            runs.append((runs.pop()[0] if beside else node, node))
    return runs


def _own_lines(first: Node, last: Node, text: bytes) -> tuple[int, int] | None:
    """The lines of a run of nodes that shares them with nothing but white space."""
    whole = text[first.start_byte : last.end_byte].rstrip()
    line_end = text.find(b"\n", first.start_byte + len(whole))
    lines = text[first.start_byte - first.start_point.column : line_end if line_end >= 0 else len(text)]
    line = first.start_point.row + 1
    return (line, line + whole.count(b"\n")) if lines.strip() == whole else None


def _symbols(syntax: Syntax, matches: list[Captures]) -> Iterator[tuple[str, int]]:
    seen: set[int] = set()
    for captures in matches:
        if not any(capture.startswith("definition.") for capture in captures):
            continue
        for node in captures["name"]:
            if node.start_byte not in seen:
                seen.add(node.start_byte)
                name = _clean(syntax, node)
                yield name if syntax.language.dotted else name.rsplit(".", 1)[-1], node.start_point.row + 1


def _candidates(syntax: Syntax, matches: list[Captures]) -> list[_CandidateDefinition]:
    widest: dict[int, _CandidateDefinition] = {}
    for captures in matches:
        for capture, kind in _KINDS.items():
            if capture in captures:
                name = captures["name"][0]
                line = name.start_point.row + 1
                node = captures[capture][0]
                end = captures.get("end", [node])[0]
                owner = [one for node in captures.get("owner", ()) if (one := _clean(syntax, node)) not in _EXPORTS]
                qualified = ".".join([*owner, _clean(syntax, name)])
                candidate = _CandidateDefinition(kind, qualified, line, node, end)
                known = widest.get(name.start_byte)
                if known is None or candidate.size > known.size:
                    widest[name.start_byte] = candidate
    return sorted(widest.values(), key=lambda found: (found.node.start_byte, -found.end.end_byte))


def _clean(syntax: Syntax, node: Node) -> str:
    """A name as Winnow writes it: not in quotes or, but for titles, with white space; dots for `::`, `:` and `\\`."""
    text = syntax.text_of(node)
    if text.isidentifier():
        return text
    name = re.sub(r"\s+", " " if syntax.language.packed else "", _QUOTED.sub(r"\2", text))
    return re.sub(r"::|:|\\", ".", name).strip(".[] ") or "_"


def _nested(candidates: list[_CandidateDefinition], outline: Outline) -> list[Definition]:
    """The candidates that become units: not those inside a function, nor those that share another's line."""
    found: list[Definition] = []
    open_: list[tuple[int, int]] = []  # (end byte, index in `found`) of the definitions around this one
    taken = 0  # the last line taken at the top level
    for candidate in candidates:
        while open_ and candidate.node.start_byte >= open_[-1][0]:
            open_.pop()
        parent = open_[-1][1] if open_ else None
        around = None if parent is None else found[parent]
        if len(open_) == _MAX_NESTING or (around and not around.contains_units):
            continue
        floor = taken if around is None else around.taken
        first, last = _line_range(candidate.node)[0], _line_range(candidate.end)[1]
        if first <= floor:
            sibling = next((one for one in reversed(found) if one.parent == parent), None)
            if sibling is not None:
                sibling.last = max(sibling.last, last)
        else:
            open_.append((candidate.end.end_byte, len(found)))
            found.append(_definition(candidate, outline.with_leading(first, floor), last, parent, around))
        if around is None:
            taken = max(taken, last)
        else:
            around.taken = max(around.taken, last)
    return found


def _joined(definitions: list[Definition]) -> list[Definition]:
    """The definitions, with clauses of one function on consecutive lines as one."""
    found: list[Definition] = []
    places: dict[int | None, int | None] = {None: None}
    for number, one in enumerate(definitions):
        one.parent = places[one.parent]
        last = found[-1] if found else None
        same = last and (last.parent, last.name, last.kind) == (one.parent, one.name, one.kind)
        if last and same and not one.contains_units and one.first == last.last + 1:
            last.last = one.last
        else:
            found.append(one)
        places[number] = len(found) - 1
    return found


def _definition(
    candidate: _CandidateDefinition, first: int, last: int, parent: int | None, around: Definition | None
) -> Definition:
    kind, name, taken = candidate.kind, candidate.name, candidate.name_line
    if around is None:
        return Definition(kind, name, first, last, None, taken)
    kind = UnitKind.METHOD if kind is UnitKind.FUNCTION else kind
    return Definition(kind, f"{around.name}.{name}", first, last, parent, taken)


def _sections(syntax: Syntax, matches: list[Captures], last_line: int) -> list[Definition]:
    """Each heading's section, to the line before the next heading that is not below it."""
    found: list[Definition] = []
    open_: list[tuple[int, int]] = []  # (level, index in `found`)
    for level, heading, name in sorted(_headings(matches), key=lambda one: one[1].start_byte):
        first = heading.start_point.row + 1
        while open_ and open_[-1][0] >= level:
            found[open_.pop()[1]].last = first - 1
        parent = open_[-1][1] if open_ else None
        open_.append((level, len(found)))
        found.append(Definition(UnitKind.SECTION, syntax.text_of(name).strip(), first, last_line, parent))
    return found


def _headings(matches: list[Captures]) -> Iterator[tuple[int, Node, Node]]:
    for captures in matches:
        for capture, nodes in captures.items():
            if capture.startswith("heading."):
                yield int(capture.removeprefix("heading.")), nodes[0], captures["name"][0]


# Larger files are cut at blank lines: a tree takes some 50 times the memory of its text.
_MAX_PARSED_BYTES = 4_000_000


@dataclass(frozen=True)
class ParsedFile:
    """Its lines are those of the file, with LF ends. `syntax` is None for text in no known language."""

    text: bytes
    lines: Lines
    syntax: Syntax | None = None
    outline: Outline = field(default_factory=Outline)

    @property
    def piece_bytes(self) -> int:
        """The most bytes of a piece of code outside definitions."""
        return self.syntax.language.piece_bytes if self.syntax else PIECE_BYTES


def parse(path: str, data: bytes) -> ParsedFile:
    """Parse a file by its path or first line. Raises GrammarError if its grammar cannot handle the text."""
    language = languages.for_file(path, data)
    if language is None or len(data) > _MAX_PARSED_BYTES:
        return plain(data)
    text = with_lf(data)
    lines = Lines(text)
    syntax = Syntax(language, text)
    return ParsedFile(text, lines, syntax, read_outline(syntax, lines.count))


def parse_or_plain(path: str, data: bytes) -> ParsedFile:
    """A file with its tree, or without one if its grammar gives up."""
    try:
        return parse(path, data)
    except GrammarError:
        return plain(data)


def syntax_errors(path: str, data: bytes) -> int | None:
    """Number of syntax errors in a file; None if no grammar can tell."""
    syntax = parse_or_plain(path, data).syntax
    return None if syntax is None else syntax.errors()


def plain(data: bytes) -> ParsedFile:
    """The file as text in no language. Never fails."""
    text = with_lf(data)
    return ParsedFile(text, Lines(text))
