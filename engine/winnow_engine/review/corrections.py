"""Findings from what a target corrects in changed code when it is asked to repeat it.

A small model that is asked for a verdict finds nothing, or a fault in everything; what it corrects is mostly wrong
(docs/changes.md#review).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from winnow_engine.changes.changed import Changes
from winnow_engine.changes.diff_text import TouchedFile
from winnow_engine.changes.question import touched_files
from winnow_engine.changes.units import ChangedUnit
from winnow_engine.core import DEFINITIONS, UnitKind
from winnow_engine.index.lines import text_lines
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.markdown import block, code
from winnow_engine.review.findings import CORRECTED, Finding

_MOST_QUESTIONS = 20  # units of a change
_MOST_LINES, _MOST_BYTES = 60, 6_000  # of a unit, which an answer repeats
_MOST_CORRECTIONS = 3  # of a unit: more are a matter of style
_ALIKE = 0.5
_COMPARED = 400  # characters of a line: all of two long ones would take minutes
_CODE = (*DEFINITIONS, UnitKind.TOP_LEVEL)
_BLOCK = re.compile(r"(`{3,})[^\n]*\n(.*?)(\1|\Z)", re.DOTALL)
_COMMENT = re.compile(r'#(?!(?:define|elif|if|ifdef|ifndef|include)\b)|//|/\*|\*(?:[\s/]|$)|--(?:\s|$)|;|"""')
_SPACE = re.compile(r"""("[^"]*"|'[^']*')|\s+""")  # or a string, in which it counts


@dataclass(frozen=True, slots=True)
class Repetition:
    """Code that a target is asked to repeat, from line `start` of a file; `changed` lines may be findings."""

    path: str
    start: int
    lines: tuple[str, ...]
    changed: frozenset[int]

    @property
    def question(self) -> str:
        """The words that ask for it."""
        code = block("\n".join(self.lines), "")
        return (
            f"This code from {self.path} may have a bug: a wrong name, a wrong condition, a wrong range, a wrong "
            f"result.\n\n{code}\n\nRepeat it with the bug corrected, or unchanged if it has none. "
            "Answer with one code block and nothing else."
        )

    def findings(self, answer: str) -> list[Finding]:
        """The changed lines that an answer corrects; none if it corrects much."""
        written = _BLOCK.search(answer)
        lines = text_lines(written[2]) if written else []
        whole = lines if written and written[3] else lines[:-1]  # the answer was cut off in its last line
        found = list(self._corrected(whole))
        return found if len(found) <= _MOST_CORRECTIONS else []

    def _corrected(self, written: Sequence[str]) -> Iterator[Finding]:
        old, new = ([line.strip() for line in lines] for lines in (self.lines, written))
        bare_old, bare_new = ([_SPACE.sub(r"\1", line) for line in lines] for lines in (old, new))
        for tag, i, i_end, j, j_end in difflib.SequenceMatcher(None, bare_old, bare_new, autojunk=False).get_opcodes():
            wrapped = "".join(bare_old[i:i_end]) == "".join(bare_new[j:j_end])
            pairs = product(range(i, i_end), range(j, j_end)) if tag == "replace" and not wrapped else ()
            ratios = {pair: _likeness(old[pair[0]], new[pair[1]]) for pair in pairs}
            for row in sorted({row for row, _ in ratios}):
                best = max((pair for pair in ratios if pair[0] == row), key=ratios.__getitem__)
                if ratios[best] >= _ALIKE and self.start + row in self.changed:
                    yield self._finding(self.start + row, new[best[1]])

    def _finding(self, line: int, instead: str) -> Finding:
        reason = f"the model corrects this to {code(instead[:_COMPARED])}"
        return Finding(self.path, line, line, reason, "medium", CORRECTED)


def _likeness(old: str, new: str) -> float:
    """A share of 1; 0 for comments, and for a line that only gets one."""
    if _COMMENT.match(old) or _COMMENT.match(new.removeprefix(old).strip()):
        return 0.0
    return difflib.SequenceMatcher(None, old[:_COMPARED], new[:_COMPARED], autojunk=False).ratio()


def repetitions(changes: Changes, workspace: Workspace) -> list[Repetition]:
    """The first changed functions and the like that are short enough to be repeated, and as they were changed."""
    touched = touched_files(changes, workspace)
    found = [_repetition(one, unit) for one in touched for unit in one.units.units if _is_code(unit)]
    return [one for one in found if one is not None and one.changed][:_MOST_QUESTIONS]


def corrections(asked: Iterable[Repetition], answers: Iterable[str]) -> list[Finding]:
    """The findings of all answers, of which there may be fewer than were asked for."""
    return [found for one, answer in zip(asked, answers, strict=False) for found in one.findings(answer)]


def _is_code(unit: ChangedUnit) -> bool:
    lines = unit.after_lines
    short = len(lines) <= _MOST_LINES and sum(map(len, lines)) <= _MOST_BYTES
    return unit.after is not None and unit.after.kind in _CODE and short


def _repetition(one: TouchedFile, unit: ChangedUnit) -> Repetition | None:
    """None if the lines are not in the workspace as the change left them."""
    assert unit.after is not None
    start = one.now.line(unit.after.start_line)
    lines = tuple(line.decode("utf-8", "replace") for line in unit.after_lines)
    now = [one.now.line(row) for row in range(unit.after.start_line, unit.after.end_line + 1)]
    if one.now.file is None or start is None or now != [*range(start, start + len(now))]:
        return None
    changed = frozenset(start + row - 1 for hunk in unit.hunks for row in hunk.after)
    return Repetition(one.now.file.path, start, lines, changed)
