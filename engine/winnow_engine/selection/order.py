"""The order in which code is shown, where scores alone do not give it.

Who asks about a name wants its definition first; who asks about a whole project, its README and entry points. Who
asks anything else looks at files: a file is shown as early as what it holds together lets it, its best unit first and
further ones later. A budget is filled without regard to files (docs/lab/scoring.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question
from winnow_engine.selection.candidates import highest
from winnow_engine.selection.definitions import CLASS, defining
from winnow_engine.selection.fusion import FusedScores
from winnow_engine.selection.overview import overview_units

_FOUND = 2.0  # log-odds that what a rule finds is the answer
_FILE, _PLACE = 0.2, 1.0  # share of a file's score, log-odds for each doubling of a place: fitted on calibration
_COUNTED = 100  # units that count for their files: thousands of unlikely ones would outweigh a likely one
DEFINITION, _OVERVIEW = "definition", "overview"
"""The features."""


def with_rules(question: Question, workspace: Workspace, scores: FusedScores) -> FusedScores:
    """The scores, with what a rule finds ahead of all other units, in the rule's order.

    That are the definitions of the names that the question is about, classes first, or the units of an overview.
    """
    total, kinds = scores.total, workspace.unit_kinds
    definitions = sorted(defining(question, workspace), key=lambda unit: (kinds[unit] != CLASS, -total[unit]))
    units = definitions or overview_units(workspace, question)
    scored = [unit for unit in units if total[unit] > -np.inf]
    if not scored:
        return scores
    added = np.zeros_like(total)
    added[scored] = total.max() + np.arange(len(scored), 0, -1) - total[scored]
    found = replace(scores, log_odds=max(scores.log_odds, _FOUND))
    return found.with_more(DEFINITION if definitions else _OVERVIEW, added)


def by_files(workspace: Workspace, scores: FusedScores) -> FusedScores:
    """The scores by which units are shown: those of files, 2 ln Σ e^(score / 2) of leaders, count with their units'.

    Lists of questions, whose answers may all stand in one file, keep their own order. So does what a rule found.
    """
    if scores.log_shares is not None or not {DEFINITION, _OVERVIEW}.isdisjoint(scores.contributions):
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
