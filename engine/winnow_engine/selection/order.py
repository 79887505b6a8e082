"""The order in which code is shown, where scores alone do not give it.

Who asks for a bare name wants its definition first; who asks about a whole project, its README and entry points. Who
asks anything else looks at files: a file is shown as early as what it holds together lets it, its best unit first and
further ones later. A budget is filled without regard to files (docs/lab/scoring.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores, UnitKind
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question
from winnow_engine.selection.candidates import highest
from winnow_engine.selection.fusion import FusedScores
from winnow_engine.selection.overview import overview_units

_FOUND = 2.0  # log-odds that what a rule finds is the answer
_FILE, _PLACE = 0.2, 1.0  # share of a file's score, log-odds for each doubling of a place: fitted on calibration
_COUNTED = 100  # units that count for their files: thousands of unlikely ones would outweigh a likely one
_MOST_DEFINITIONS = 16  # of a name that is asked for
_DEFINITION, _OVERVIEW = "definition", "overview"  # the features
_NAME = r"[^\W\d][\w$]*(?:(?:\.|::|#|->)[\w$]+)*"
_BARE = re.compile(rf"\W*({_NAME})\W*")
_WHERE_DEFINED = re.compile(
    rf"(?:where (?:is|are)|find|show|definition of|declaration of)\W+(?:the )?(?:class|function|method|struct|type)?\W*"
    rf"({_NAME})\W*(?:defined|declared|definition)?\W*",
    re.IGNORECASE,
)
_CODE = [list(UnitKind).index(kind) for kind in (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)]


def with_rules(question: Question, workspace: Workspace, scores: FusedScores) -> FusedScores:
    """The scores, with what a rule finds ahead of all other units, in the rule's order.

    That are the definitions of the name that the question consists of, or the units of an overview.
    """
    definitions = sorted(defining(question.text, workspace), key=lambda unit: -scores.total[unit])
    units = definitions or overview_units(workspace, question)
    scored = [unit for unit in units if scores.total[unit] > -np.inf]
    if not scored:
        return scores
    added = np.zeros_like(scores.total)
    added[scored] = scores.total.max() + np.arange(len(scored), 0, -1) - scores.total[scored]
    found = replace(scores, log_odds=max(scores.log_odds, _FOUND))
    return found.with_more(_DEFINITION if definitions else _OVERVIEW, added)


def defining(text: str, workspace: Workspace) -> list[int]:
    """The units that define the name of which a text consists, tests only if nothing else does; none without one."""
    match = _BARE.fullmatch(text) or _WHERE_DEFINED.fullmatch(text)
    if match is None:
        return []
    *owner, name = re.split(r"\.|::|#|->", match[1])
    symbols = workspace.symbols
    units = [unit for known in symbols.spelled(name) for unit in symbols.defining(known)]
    if len(units) > _MOST_DEFINITIONS:
        return []
    end = "." + ".".join([*owner, name]).lower()
    units = _those([f".{workspace.units[unit][1].name}".lower().endswith(end) for unit in units], units)
    units = _those(np.isin(workspace.unit_kinds[units], _CODE).tolist(), units)
    files = workspace.files_of(units)
    return _those((~workspace.file_table.are_tests[files]).tolist(), units)


def _those(wanted: Sequence[bool], units: list[int]) -> list[int]:
    """The units that are wanted; all if none is."""
    return [unit for unit, one in zip(units, wanted, strict=True) if one] or units


def by_files(workspace: Workspace, scores: FusedScores) -> FusedScores:
    """The scores by which units are shown: those of files, 2 ln Σ e^(score / 2) of leaders, count with their units'.

    Lists of questions, whose answers may all stand in one file, keep their own order. So does what a rule found.
    """
    if scores.log_shares is not None or not {_DEFINITION, _OVERVIEW}.isdisjoint(scores.contributions):
        return scores
    units = np.flatnonzero(scores.total > -np.inf)
    files = workspace.files_of(units)
    total, together = scores.total[units], np.full(len(workspace.files), -np.inf, np.float32)
    best = highest(total, _COUNTED)
    np.logaddexp.at(together, files[best], total[best] / 2)
    lifted = (1 - _FILE) * total + _FILE * np.maximum(2 * together[files], total)
    added = np.zeros_like(scores.total)
    added[units] = lifted - _PLACE * np.log2(_places(files, total)) - total
    return scores.with_more("order", added)


def _places(files: NDArray[np.int64], total: Scores) -> NDArray[np.int64]:
    """The place of each unit among those of its file, from 1, the best first."""
    order = np.lexsort((-total, files))
    starts = np.flatnonzero(np.diff(files[order], prepend=-1))
    places = np.empty(len(files), np.int64)
    places[order] = 1 + np.arange(len(files)) - np.repeat(starts, np.diff([*starts, len(files)]))
    return places
