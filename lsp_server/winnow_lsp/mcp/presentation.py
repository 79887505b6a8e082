"""Results of the tools, made of what is found in a workspace."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from winnow_engine.core import Citation, Kept, Span, Unit, UnitKind, counted
from winnow_engine.index.contents import ListedFolder, contents, named_units
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.relations import Relation, relations
from winnow_engine.index.scope import MatchingLines
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Cursor
from winnow_engine.selection.ranking import Selection
from winnow_lsp.mcp.arguments import Arguments
from winnow_lsp.mcp.results import CodePlace, CodeSpan, Explained, FoundCode, Outlined, OutlineEntry, Related, fitted

_NAMES_A_FILE = 12  # in the outline of a folder
_LEAST_LINE_TOKENS = 3  # its number, a colon, and the end of the line
_LONGEST_LINE = 200
_LINK = re.compile(r"(?<!\w)!?\[([^\[\]]*)\]\([^()\s]*\)")


def found_code(selection: Selection, budget: int, count: Callable[[str], int]) -> FoundCode:
    """A selection as the result of `find_code`, within a budget of tokens that `count` counts."""
    workspace = selection.workspace
    spans = [_code(workspace, span) for span in Kept.of(selection.spans, None).spans]

    def made(some: Sequence[CodeSpan]) -> FoundCode:
        return FoundCode(spans=list(some), index_complete=selection.stats.complete, notices=list(selection.notices))

    return fitted(made, spans, budget, count)


def found_lines(workspace: Workspace, found: MatchingLines, asked: Arguments, count: Callable[[str], int]) -> FoundCode:
    """Matching lines with the units that they lie in, as the result of `find_code`."""
    rows = [(unit, line) for unit, lines in found.by_unit.items() for line in lines]

    def made(some: Sequence[tuple[int, int]]) -> FoundCode:
        spans = [_lines(workspace, unit, [line for _, line in lines]) for unit, lines in groupby(some, itemgetter(0))]
        notices, total = list(asked.notices), counted(len(rows), "line")
        if not found.complete:
            notices.append(f"the search was given up after {total}: narrow it by paths")
        if len(some) < len(rows):
            notices.append(f"{len(some):,} of {total} that match: raise the budget, narrow by paths, or ask a question")
        return FoundCode(spans=spans, index_complete=found.complete, notices=notices)

    return fitted(made, rows[: asked.budget // _LEAST_LINE_TOKENS], asked.budget, count)


def _lines(workspace: Workspace, unit: int, lines: Sequence[int]) -> CodeSpan:
    file, found = workspace.units[unit]
    texts = (f"{line}: {_shortened(file.text_of_lines(line, line).strip())}" for line in lines)
    return CodeSpan(**_place(file.path, found), name=_name(found), kind=found.kind.value, text="\n".join(texts))


def _name(one: Span | Unit) -> str:
    """A name, of a heading with links without their targets: `[1.2](https://…) (May)` is `1.2 (May)`."""
    if one.kind is not UnitKind.SECTION:
        return one.name
    return _LINK.sub(r"\1", _LINK.sub(r"\1", one.name)).strip() or one.name  # twice, for images in links


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"


def _code(workspace: Workspace, span: Span) -> CodeSpan:
    file, unit = workspace.units[workspace.unit_at(span.path, span.start_line)]
    code = CodeSpan(
        **_place(span.path, span),
        name=_name(span),
        kind=span.kind.value,
        score=round(span.score, 1) + 0.0,  # no -0.0
        text=file.text_of_lines(span.start_line, span.end_line),
    )
    if span.start_line > unit.start_line or span.end_line < unit.end_line:
        code.part_of = f"{unit.start_line}-{unit.end_line}"
    return code


def _place(path: str, lines: Citation | Span | Unit | Cursor) -> dict[str, Any]:
    return {"path": path, "start_line": lines.start_line, "end_line": lines.end_line}


def explained(workspace: Workspace, cursor: Cursor, asked: Arguments, count: Callable[[str], int]) -> Explained:
    """What the lines at a cursor are related to, as the result of `explain_place`."""
    found = relations(workspace, cursor)
    # In turns, so that a small budget shows some of both.
    pairs = [("uses", one) for one in found.uses], [("used_by", one) for one in found.used_by]
    rows = sorted((place, side) for side, some in enumerate(pairs) for place in range(len(some)))
    items = [pairs[side][place] for place, side in rows]

    def made(some: Sequence[tuple[str, Relation]]) -> Explained:
        return Explained(
            **_place(cursor.path, cursor),
            inside=[_name(unit) or unit.kind.value for unit in found.units],
            uses=[_related(one) for side, one in some if side == "uses"],
            used_by=[_related(one) for side, one in some if side == "used_by"],
            left_out=len(items) - len(some),
            notices=list(asked.notices),
        )

    return fitted(made, items, asked.budget, count)


def _related(one: Relation) -> Related:
    return Related(name=one.name, path=one.file.path, line=one.line, inside=_name(one.unit), text=_shortened(one.text))


def outlined(workspace: Workspace, path: str, asked: Arguments, count: Callable[[str], int]) -> Outlined:
    """The contents of a folder or file as the result of `outline`. PositionError if there is none."""
    entries = _entries(list(contents(workspace, path)), path)

    def made(some: Sequence[OutlineEntry]) -> Outlined:
        return Outlined(entries=list(some), left_out=len(entries) - len(some), notices=list(asked.notices))

    return fitted(made, entries, asked.budget, count)


def _entries(found: Sequence[ListedFolder | IndexedFile], path: str) -> list[OutlineEntry]:
    match found:
        case [IndexedFile(path=name) as file] if name == path.removeprefix("./"):
            named = named_units(file)
            return [OutlineEntry(**_place(name, one), kind=one.kind.value, name=_name(one)) for one in named]
    return list(map(_entry, found))


def _entry(one: ListedFolder | IndexedFile) -> OutlineEntry:
    if isinstance(one, ListedFolder):
        return OutlineEntry(path=f"{one.path}/", kind="folder", files=one.files)
    units = sorted(named_units(one), key=lambda unit: unit.kind is UnitKind.TOP_LEVEL)  # constants last
    names = list(dict.fromkeys(map(_name, units)))  # a long section is several units
    some, count = names[:_NAMES_A_FILE], len(names)
    return OutlineEntry(path=one.path, kind="file", lines=one.line_count, defines=some, names=count)


def place_of(lines: Citation | Span) -> CodePlace:
    """The place of some lines."""
    return CodePlace(**_place(lines.path, lines))
