"""Code that a model wrote, moved to where it is to stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

_WIDTH = 4  # spaces that a tab stands for where nothing tells


def indentation(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def reindented(code: Sequence[str], like: Sequence[str]) -> list[str]:
    """Lines of code, moved so that the first one stands where that of `like` does, and with tabs if those have tabs.

    Lines that stand left of the first one, as those of a string may, stay where they are.
    """
    code = _as_tabs_or_spaces(code, tabs=_has_tabs(like))
    old, new = _first(code), _first(like)
    if old == new:
        return list(code)
    return [new + line.removeprefix(old) if line.strip() and line.startswith(old) else line for line in code]


def _first(lines: Iterable[str]) -> str:
    return next((indentation(line) for line in lines if line.strip()), "")


def _has_tabs(lines: Iterable[str]) -> bool | None:
    """True for lines indented by tabs; None if none of them is indented."""
    indented = [line for line in lines if line.strip() and line[0] in " \t"]
    return any(line[0] == "\t" for line in indented) if indented else None


def _as_tabs_or_spaces(code: Sequence[str], tabs: bool | None) -> Sequence[str]:
    has = _has_tabs(code)
    if tabs is None or has is None or has == tabs:
        return code
    if not tabs:
        return [line.replace("\t", " " * _WIDTH, _tabs_before(line)) for line in code]
    width = _width(code)
    return ["\t" * (len(indentation(line)) // width) + line[len(indentation(line)) // width * width :] for line in code]


def _tabs_before(line: str) -> int:
    return indentation(line).count("\t")


def _width(code: Sequence[str]) -> int:
    """Spaces of one level of indentation."""
    depths = sorted({len(indentation(line)) for line in code if line.strip()})
    return min((deeper - depth for depth, deeper in pairwise(depths)), default=0) or _WIDTH
