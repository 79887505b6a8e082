"""A figure of a sweep: the wait above, the recall below, over the share of the workspace that is kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from winnow_research.first_token.sweep import SweepPoint

_WIDTH, _HEIGHT, _LEFT, _RIGHT = 640, 220, 70, 20
_TOP, _GAP, _BOTTOM = 40, 50, 50
_INK, _GREY, _BLUE, _ORANGE = "#222222", "#bbbbbb", "#1f6fb4", "#c8601a"


@dataclass(frozen=True, slots=True)
class _Panel:
    """A panel whose values run from `low` at its bottom to `high`, on a logarithmic scale if `log`."""

    top: float
    low: float
    high: float
    log: bool

    def y(self, value: float) -> float:
        low, high, at = (math.log(one) if self.log else one for one in (self.low, self.high, value))
        return self.top + _HEIGHT * (high - at) / (high - low)


def figure(points: Sequence[SweepPoint], title: str, vanilla_s: float | None) -> str:
    """The figure as SVG; `vanilla_s` is the wait without Winnow, drawn as a line."""
    waits = [one.seconds for one in points] + ([vanilla_s] if vanilla_s else [])
    above = _Panel(_TOP, min(waits) * 0.8, max(waits) * 1.25, True)
    below = _Panel(_TOP + _HEIGHT + _GAP, 0, 1, False)
    height = below.top + _HEIGHT + _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" font-family="sans-serif">',
        f'<rect width="{_WIDTH}" height="{height:g}" fill="white"/>',
        _text(_LEFT, 22, title, size=14),
        *_frame(above, [(one, f"{one:g} s") for one in _steps(above.low, above.high)]),
        *_frame(below, [(one / 4, f"{25 * one}%") for one in range(5)]),
        *_line(above, points, [one.seconds for one in points], _BLUE, "first token"),
        *_line(below, points, [one.golds_kept for one in points], _BLUE, "questions with all golds kept"),
        *_line(below, points, [one.lines_kept for one in points], _ORANGE, "lines of golds kept", row=1),
        *_shares(points, below.top + _HEIGHT),
    ]
    if vanilla_s:
        parts += [_rule(above.y(vanilla_s), _ORANGE), _text(_LEFT + 8, above.y(vanilla_s) + 14, "vanilla", _ORANGE)]
    return "\n".join([*parts, "</svg>", ""])


def _x(share: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (math.log10(share) + 2) / 2


def _steps(low: float, high: float) -> list[float]:
    """Round numbers between two."""
    tens = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [one for ten in tens for digit in (1, 2, 5) if low <= (one := digit * 10.0**ten) <= high]


def _frame(panel: _Panel, marks: Iterable[tuple[float, str]]) -> Iterator[str]:
    for value, label in marks:
        yield _rule(panel.y(value), _GREY)
        yield _text(_LEFT - 8, panel.y(value) + 4, label, anchor="end")


def _line(
    panel: _Panel, points: Sequence[SweepPoint], values: Sequence[float], colour: str, label: str, row: int = 0
) -> Iterator[str]:
    places = [(_x(point.ratio), panel.y(value)) for point, value in zip(points, values, strict=True)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
    yield _text(_WIDTH - _RIGHT - 8, panel.top + _HEIGHT - 28 + 16 * row, label, colour, anchor="end")


def _shares(points: Sequence[SweepPoint], bottom: float) -> Iterator[str]:
    for point in points:
        yield _text(_x(point.ratio), bottom + 18, f"{100 * point.ratio:g}", anchor="middle")
    yield _text(_WIDTH / 2, bottom + 38, "tokens of the workspace that the target sees, %", anchor="middle")


def _rule(y: float, colour: str) -> str:
    return f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, colour: str = _INK, anchor: str = "start", size: int = 12) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
    return f"<text {place}>{escape(text)}</text>"
