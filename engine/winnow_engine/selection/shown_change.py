"""The part of a change that the target sees, and the units of the workspace that it shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from winnow_engine.core import Span
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Change, Cursor, ShownChange

_SHARE = 0.6  # of a budget that a change may take; what uses it, and what it uses, get the rest


def longest_fitting(change: Change, budget_tokens: int) -> ShownChange:
    """The change at the greatest length that leaves room for other code, else at the least."""
    fitting = (shown for shown in change.shown if shown.tokens <= _SHARE * budget_tokens)
    return next(fitting, change.shown[-1])


def budget_for(shown: ShownChange, other_tokens: int) -> int:
    """The budget in which a change keeps this length, with so many tokens of other code."""
    return max(shown.tokens + other_tokens, math.ceil(shown.tokens / _SHARE))


def units_shown(shown: ShownChange, workspace: Workspace) -> list[int]:
    """The units that need not be kept, because all of their changed lines are shown."""
    if not shown.complete:
        return []
    return [n for place in shown.places for n in workspace.units_at(place)]


def spans_shown(
    shown: ShownChange, workspace: Workspace, kept: tuple[Span, ...], count: Callable[[str], int], score: float
) -> Iterator[Span]:
    """The lines of the workspace that a change shows, less those of kept spans."""
    for place in shown.places:
        if not any(_covers(span, place) for span in kept):
            file, unit = workspace.units[workspace.unit_at(place.path, place.start_line)]
            tokens = count(file.text_of_lines(place.start_line, place.end_line))
            lines = place.start_line, place.end_line
            yield Span(place.path, *lines, tokens, score, unit.kind, unit.name, {"change": score})


def _covers(span: Span, place: Cursor) -> bool:
    return span.path == place.path and span.start_line <= place.start_line and place.end_line <= span.end_line
