"""A first look at a workspace that is not indexed: the keys of the units that matter for one question, in seconds.

Names, words and paths need no model. They choose the units that the drafter encodes at once; where some have keys from
before, its scores of these lead to their neighbours. Only units with keys can be kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Budget, Cancellation, ProgressSink, Scores
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.keys.key_lookup import keys_of
from winnow_engine.keys.workspace_keys import TOKENS_PER_BYTE, WorkspaceKeys
from winnow_engine.question import Question
from winnow_engine.selection.budget import density
from winnow_engine.selection.definitions import defining
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import FusionWeights
from winnow_engine.selection.overview import fitting, overview_units
from winnow_engine.selection.scoring_input import ScoringInput, about, ask_drafter
from winnow_engine.selection.subquestions import subquestions_of
from winnow_engine.selection.workspace_units import WorkspaceUnits

_LARGEST_SHARE = 0.5  # of a first look's tokens, that one unit may take

# Fitted without the drafter's features on the questions of the calibration split, then rounded; those about code at a
# cursor and about documentation are set by hand (docs/results/first-answer.md).
_WEIGHTS = FusionWeights(
    {
        "words": {"one": 0.5},
        "titles": {"one": 2.0},
        "paths": {"one": 2.5},
        "files": {"one": 2.0},
        "names": {"one": 1.2},
        "mentions": {"one": 0.5},
        "users": {"one": 0.3, "uses": 0.6},
        "cursor": {"one": 3.0},
        "imports": {"one": -2.0},
        "prose": {"one": -2.0, "documentation": 3.0},
        "headers": {"one": -3.0},
        "tests": {"one": -0.5},
        "size": {"one": 0.25},
        "used": {"one": 0.8},
        "using": {"one": 1.1},
    },
    {},
)
_BEST_OF_FILE = 0.2  # times BM25 of the best unit of a file, for all its units


def keys_for(
    question: Question,
    workspace: Workspace,
    cache: KeyCache,
    budget: Budget,
    progress: ProgressSink,
    cancellation: Cancellation,
) -> WorkspaceKeys:
    """The keys to answer a located question with: all if they can be had soon, or if a first look would not do.

    Otherwise those there are, and about `budget.first_look_tokens` more that the question needs most. CancelledError.
    """
    tokens = budget.first_look_tokens
    if not tokens or cache.takes_all(budget, cache.missing_tokens(workspace)):
        return cache.of(workspace, progress, cancellation)
    parts, by_rule = cache.stored(workspace), _by_rule(question, workspace, cache, tokens)
    # A second round, after the drafter has scored what the first one encoded, chose no better.
    units = _chosen(question, workspace, keys_of(workspace, parts), cache, tokens, by_rule, cancellation)
    keys = keys_of(workspace, cache.encode_ahead(workspace, parts, units, progress, cancellation))
    found = keys.units_in(question.scope)
    return keys if len(found) else cache.of(workspace, progress, cancellation)


def _chosen(
    question: Question,
    workspace: Workspace,
    keys: WorkspaceKeys,
    cache: KeyCache,
    tokens: int,
    by_rule: Iterable[int],
    cancellation: Cancellation,
) -> list[int]:
    """The units to encode: those `by_rule` and the best per token, up to `tokens`, less those that have keys."""
    if len(keys.units):
        asked = ask_drafter(workspace, keys, cache.drafter, question, cancellation)
    else:
        asked = _without_drafter(workspace, question)
    sizes = _sizes(workspace)
    worth = density(fuse(asked, _WEIGHTS).total + _BEST_OF_FILE * _best_of_file(asked), sizes)
    first = list(dict.fromkeys(by_rule))
    wanted = question.scope.units if question.scope else np.arange(len(worth))
    rest = np.setdiff1d(wanted, first)
    best = _filling(rest[np.argsort(-worth[rest], kind="stable")], sizes, tokens - int(sizes[first].sum()))
    return [unit for unit in (*first, *best) if not keys.unit_tokens[unit]]


def _best_of_file(asked: ScoringInput) -> Scores:
    """BM25 of the best unit of the file, for each unit, float32 [U]."""
    starts = asked.workspace.unit_starts
    best = np.maximum.reduceat(np.append(asked.matches.words, 0), starts[:-1]) * (np.diff(starts) > 0)
    return asked.workspace.by_unit(np.asarray(best, np.float32))


def _filling(ranking: NDArray[np.int64], sizes: NDArray[np.int32], tokens: int) -> list[int]:
    """The first of some units that fit together into so many tokens, none of which takes more than half of them."""
    fit = ranking[sizes[ranking] <= _LARGEST_SHARE * tokens]
    return [int(unit) for unit in fit[np.cumsum(sizes[fit]) <= tokens]]


def _without_drafter(workspace: Workspace, question: Question) -> ScoringInput:
    """The question with everything but the drafter's scores."""
    asked = about(question)
    texts = () if asked.code else subquestions_of(asked.text)
    subquestions = (ScoringInput(workspace, Question(text), {}) for text in texts)
    return replace(ScoringInput(workspace, asked, {}), subquestions=tuple(subquestions))


def _by_rule(question: Question, workspace: Workspace, cache: KeyCache, tokens: int) -> list[int]:
    """The units that are kept whatever their score: at the cursor, of an overview, and definitions asked for."""
    sizes = _sizes(workspace)
    asked = [*defining(question.text, workspace), *overview_units(workspace, question)]
    wanted = [unit for unit in asked if question.scope is None or unit in question.scope.units]
    found = fitting(wanted, sizes, tokens)
    if question.cursor is None:
        return found
    focus = WorkspaceUnits(workspace, np.zeros(0, np.int32), cache.drafter.count).focus(question.cursor)
    return [*focus.units, *focus.companions, *found]


def _sizes(workspace: Workspace) -> NDArray[np.int32]:
    """About how many tokens each unit has, int32 [U]."""
    return np.asarray(np.maximum(workspace.unit_bytes * TOKENS_PER_BYTE, 1), np.int32)
