"""Puts needles into a workspace: between functions in code, between sentences in prose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from winnow_engine.core import UnitKind
from winnow_engine.index.files import SourceFile
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.languages import for_path
from winnow_research.evaluation.cases import Gold
from winnow_research.evaluation.haystack import indexed
from winnow_research.evaluation.needles.needle import CODE_LANGUAGES, Needle

_SENTENCE_END = re.compile(rb"[.!?][\"')\]]*\s*$")
_BORDERS = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)


@dataclass(frozen=True, slots=True)
class Gap:
    """A line of a file before which a needle can stand. `offset` is its place in the whole workspace, in bytes."""

    path: str
    line: int
    offset: int


def hide(
    files: Sequence[SourceFile], needles: Sequence[Needle], depths: Sequence[float]
) -> tuple[tuple[SourceFile, ...], tuple[Gold, ...]]:
    """The files with each needle at its depth, and the lines that each needle takes.

    A depth is a share of the workspace's bytes, 0 to 1. A needle goes to the nearest gap that is still free.
    """
    left, chosen = gaps(files), {}
    total = sum(len(file.data) for file in files)
    for needle, depth in zip(needles, depths, strict=True):
        gap = min(left, key=lambda one: abs(one.offset - depth * total))
        left.remove(gap)
        chosen[gap] = needle
    golds: dict[Needle, Gold] = {}
    hidden = tuple(_with_needles(file, chosen, golds) for file in files)
    return hidden, tuple(golds[needle] for needle in needles)


def gaps(files: Sequence[SourceFile]) -> list[Gap]:
    """Every gap where a needle of either style can stand, in order.

    In code a gap is before a definition at the outermost level, in prose after a sentence that ends its line. Prose has
    gaps only if there is no code.
    """
    code = [file for file in indexed(files) if _language(file.path) in CODE_LANGUAGES]
    hosts = {file.path: _borders(file) if code else _sentence_ends(file) for file in code or indexed(files)}
    found, before = [], 0
    for file in indexed(files):
        found += [Gap(file.path, line, before + file.lines.starts[line - 1]) for line in hosts.get(file.path, ())]
        before += len(file.data)
    return found


def _borders(file: IndexedFile) -> list[int]:
    return [unit.start_line for unit in file.units if unit.parent is None and unit.kind in _BORDERS]


def _sentence_ends(file: IndexedFile) -> list[int]:
    above = [b"", *file.data.splitlines()]
    return [number for number, line in enumerate(above[:-1], 1) if not line.strip() or _SENTENCE_END.search(line)]


def _with_needles(file: SourceFile, chosen: dict[Gap, Needle], golds: dict[Needle, Gold]) -> SourceFile:
    """The file with the needles chosen for it. Adds to `golds` the lines that each of them takes."""
    wanted = {gap.line: needle for gap, needle in chosen.items() if gap.path == file.path}
    lines: list[bytes] = []
    for number, line in enumerate(file.data.splitlines(keepends=True), 1):
        if number in wanted:
            text = wanted[number].lines(_language(file.path))
            golds[wanted[number]] = Gold(file.path, len(lines) + 1, len(lines) + len(text))
            lines += [f"{one}\n".encode() for one in [*text, ""]]
        lines.append(line)
    return SourceFile(file.path, b"".join(lines))


def _language(path: str) -> str:
    language = for_path(path)
    return language.name if language else "text"
