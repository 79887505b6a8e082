"""A workspace's units for a budget: whole, cut to fit, at the cursor, and as spans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Span, UnitKind
from winnow_engine.index.lines import text_lines
from winnow_engine.index.names import names_in
from winnow_engine.index.outline import parse_or_plain
from winnow_engine.index.units import cut_points
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Cursor, Question
from winnow_engine.selection.budget import Focus, KeptUnit
from winnow_engine.selection.fusion import FusedScores
from winnow_engine.selection.literals import line_with_message

_DEPTHS = (2, 99)  # of the statements between which a unit is cut
_ANYTHING = Question("?")


class WorkspaceUnits:
    """The units of a workspace, to fill a budget with for what is asked.

    `tokens` is int32 [U]; `count` counts the tokens of a text.
    """

    def __init__(
        self, workspace: Workspace, tokens: NDArray[np.int32], count: Callable[[str], int], asked: Question = _ANYTHING
    ) -> None:
        self.tokens = tokens
        self._workspace, self._count, self._asked = workspace, count, asked
        self._parsed = lru_cache(1)(parse_or_plain)  # a unit is cut several times to find the lines that fit

    def whole(self, unit: int) -> KeptUnit:
        """All of a unit."""
        _, found = self._workspace.units[unit]
        return KeptUnit(unit, found.start_line, found.end_line, int(self.tokens[unit]))

    def cut(self, unit: int, tokens: int, must: tuple[int, int] | None) -> KeptUnit | None:
        """As many statements as fit, nested ones if those around do not; None if none do."""
        file, found = self._workspace.units[unit]
        cuts = [cut_points(self._parsed(file.path, file.data), found, deepest) for deepest in _DEPTHS]
        lines = [(max(must[0], found.start_line), min(must[1], found.end_line))] if must else self._lines_to_keep(unit)
        runs = (self._run(unit, tokens, points, wanted) for wanted in lines for points in cuts)
        return next(filter(None, runs), None)

    def _lines_to_keep(self, unit: int) -> list[tuple[int, int]]:
        """The line in the question's scope, or of what it quotes or names, and the unit's first for want of room."""
        (file, found), scope = self._workspace.units[unit], self._asked.scope
        if scope and (line := scope.line_of(unit)):
            return [(line, line)]
        code = file.text_of_lines(found.start_line, found.end_line)
        line = found.start_line + (line_with_message(self._asked.text, code) or self._line_with_names(code))
        return [(line, line), (found.start_line, found.start_line)]

    def _line_with_names(self, code: str) -> int:
        """Index of the first line by which all of the question's names in the code have occurred; 0 for none."""
        names = self._workspace.symbols.asked(self._asked.text).certain
        lines = [*enumerate(text_lines(code) if names else ())]
        return max({name: n for n, line in lines[::-1] for name in names & names_in(line)}.values(), default=0)

    def _run(self, unit: int, tokens: int, points: Sequence[int], wanted: tuple[int, int]) -> KeptUnit | None:
        """The longest run between such points with the lines wanted: more below and, from the unit's end up, above."""
        (file, found), (first, last) = self._workspace.units[unit], wanted
        borders = [*points, found.end_line + 1]
        *above, start = (border for border in borders if border <= first)
        below = [(start, border - 1) for border in borders if border > last]
        best = None
        for start, end in [*below, *((border, found.end_line) for border in reversed(above))]:
            count = self._count(file.text_of_lines(start, end))
            if count > tokens:
                break
            best = KeptUnit(unit, start, end, count)
        return best

    def focus(self, cursor: Cursor) -> Focus:
        """The units at the cursor, with the headers they stand under and their file's imports as companions."""
        workspace = self._workspace
        chosen = tuple(workspace.units_at(cursor))
        base = int(workspace.unit_starts[workspace.file_number(cursor.path)])
        file_units = workspace.file(cursor.path).units
        parents = [base + p for unit in chosen if (p := file_units[unit - base].parent) is not None]
        imports = [base + i for i, unit in enumerate(file_units) if unit.kind is UnitKind.IMPORTS]
        companions = tuple(dict.fromkeys(unit for unit in parents + imports if unit not in chosen))
        return Focus(chosen, (cursor.start_line, cursor.end_line), companions)

    def spans(self, pieces: list[KeptUnit], scores: FusedScores) -> tuple[Span, ...]:
        """Kept units as spans, in path and line order."""
        return tuple(self._span(piece, scores) for piece in pieces)

    def _span(self, piece: KeptUnit, scores: FusedScores) -> Span:
        file, unit = self._workspace.units[piece.unit]
        score, features = scores.score_of(piece.unit), scores.contributions_to(piece.unit)
        return Span(file.path, piece.start_line, piece.end_line, piece.tokens, score, unit.kind, unit.name, features)
