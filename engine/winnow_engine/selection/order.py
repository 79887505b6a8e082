"""The order of units where scores alone do not give it: who asks for a bare name wants its definition first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from winnow_engine.core import UnitKind
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question
from winnow_engine.selection.fusion import FusedScores

_TOGETHER, _AGAIN = (
    0.5,
    1.0,
)  # share of the file's score in a unit's; log-odds for each doubling of a unit's place in it
_DEFINED = 2.0  # log-odds that a definition answers who gives nothing but its name
_MOST_DEFINITIONS = 16  # of a name that is asked for
_NAME = r"[^\W\d][\w$]*(?:(?:\.|::|#|->)[\w$]+)*"
_BARE = re.compile(rf"\W*({_NAME})\W*")
_DEFINITION = re.compile(
    rf"(?:where (?:is|are)|find|show|definition of|declaration of)\W+(?:the )?(?:class|function|method|struct|type)?\W*"
    rf"({_NAME})\W*(?:defined|declared|definition)?\W*",
    re.IGNORECASE,
)
_CODE = [list(UnitKind).index(kind) for kind in (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)]


def with_definitions(question: Question, workspace: Workspace, scores: FusedScores) -> FusedScores:
    """The scores, with the definitions of the name that the question consists of ahead of all other units."""
    units = defining(question.text, workspace)
    scored = [unit for unit in units if scores.total[unit] > -np.inf]
    if not scored:
        return scores
    added = np.zeros_like(scores.total)
    added[scored] = scores.total.max() - scores.total[scored].min() + 1
    return replace(scores, log_odds=max(scores.log_odds, _DEFINED)).with_more("definition", added)


def defining(text: str, workspace: Workspace) -> list[int]:
    """The units that define the name of which a text consists, tests only if nothing else does; none without one."""
    match = _BARE.fullmatch(text) or _DEFINITION.fullmatch(text)
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
    files = np.searchsorted(workspace.unit_starts, units, side="right") - 1
    return _those((~workspace.file_table.are_tests[files]).tolist(), units)


def _those(wanted: Sequence[bool], units: list[int]) -> list[int]:
    """The units that are wanted; all if none is."""
    return [unit for unit, one in zip(units, wanted, strict=True) if one] or units
