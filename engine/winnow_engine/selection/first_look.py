"""A first look at a workspace that is not indexed: the keys of the units that matter for one question, in seconds.

Names, words and paths need no model. They choose the units that the drafter encodes at once; where some have keys from
before, its scores of these lead to their neighbours. Only units with keys can be kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Budget, Cancellation, Kept, ProgressSink, Scores
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.keys.key_lookup import keys_of
from winnow_engine.keys.workspace_keys import TOKENS_PER_BYTE, WorkspaceKeys
from winnow_engine.question import Question
from winnow_engine.selection.budget import worth
from winnow_engine.selection.definitions import defining
from winnow_engine.selection.fusion import FusedScores, fuse
from winnow_engine.selection.fusion_weights import FusionWeights
from winnow_engine.selection.order import with_rules
from winnow_engine.selection.overview import fitting, overview_units
from winnow_engine.selection.scoring_input import ScoringInput, ask_drafter, without_drafter
from winnow_engine.selection.unit_features import zscore
from winnow_engine.selection.workspace_units import WorkspaceUnits

_LARGEST_SHARE = 0.5  # of the tokens, that one unit may take, or all that are kept by rule but the first
_FIRST_PLACES_TOKENS = 4000  # a gold is among their best 8 for 73% of *real* (development, 239)

# Fitted without the drafter's features on the questions of the calibration split, then rounded; those for code at a
# cursor, documentation, users asked for and files named are set by hand (docs/results/first-answer.md).
_WEIGHTS = FusionWeights(
    {
        "words": {"one": 0.55},
        "titles": {"one": 2.3},
        "paths": {"one": 1.6},
        "files": {"one": 2.0},
        "names": {"one": 1.3},
        "users": {"one": 1.2, "uses": 0.6},
        "cursor": {"one": 3.0},
        "imports": {"one": -1.5},
        "prose": {"one": -2.3, "documentation": 5.0},
        "headers": {"one": -1.9},
        "tests": {"one": -2.5, "uses": 1.5},
        "named_tests": {"one": 1.25},
        "size": {"one": 0.4},
        "used": {"one": 0.6},
        "using": {"one": 0.55},
    },
    {},
)
_BEST_OF_FILE = 0.7  # times BM25 of the best unit of a file, in deviations, for all its units


def keys_for(
    question: Question,
    workspace: Workspace,
    cache: KeyCache,
    budget: Budget,
    progress: ProgressSink,
    cancellation: Cancellation,
) -> WorkspaceKeys:
    """The keys to answer a located question with: all if they can be had soon, or if a first look would not do.

    Otherwise those there are, and of what the question needs most, as many tokens as `budget` asks for. CancelledError.
    """
    missing = cache.missing_tokens(workspace)
    if cache.takes_all(budget, missing):
        return cache.of(workspace, progress, cancellation)
    tokens = max(budget.first_look_tokens, budget.tokens(missing) or 0)
    parts = cache.stored(workspace)
    keys = keys_of(workspace, parts)
    # A second round, after the drafter has scored what the first one encoded, chose no better.
    asked = without_drafter(workspace, question)
    if len(keys.units):
        asked = ask_drafter(workspace, keys, cache.drafter, question, cancellation)
    units = [unit for unit in _best(question, asked, fuse(asked, _WEIGHTS), tokens) if not keys.unit_tokens[unit]]
    keys = keys_of(workspace, cache.encode_ahead(workspace, parts, units, progress, cancellation))
    return keys if len(keys.units_in(question.scope)) else cache.of(workspace, progress, cancellation)


def first_places(question: Question, workspace: Workspace) -> Kept:
    """Places to show until the drafter has scored any: those that words, names and paths alone choose."""
    asked = without_drafter(workspace, question)
    scores, units = fuse(asked, _WEIGHTS), WorkspaceUnits(workspace, _sizes(workspace), len)
    best = map(units.whole, _best(question, asked, scores, _FIRST_PLACES_TOKENS))
    spans = units.spans([*best], with_rules(question, workspace, scores))
    return Kept.of(spans, None, question.at_cursor, provisional=True)


def _best(question: Question, asked: ScoringInput, scores: FusedScores, tokens: int) -> list[int]:
    """The units that a question needs most, up to `tokens`: those that are kept by rule, then the best per token."""
    sizes = _sizes(asked.workspace)
    by = worth(scores.total + _BEST_OF_FILE * zscore(_best_of_file(asked)), sizes, len(asked.subquestions))
    first = list(dict.fromkeys(_by_rule(question, asked.workspace, sizes, tokens)))
    wanted = question.scope.units if question.scope else np.arange(len(by))
    rest, room = np.setdiff1d(wanted, first), tokens - int(sizes[first].sum())
    fit = rest[sizes[rest] <= _LARGEST_SHARE * room]
    ranking = fit[np.argsort(-by[fit], kind="stable")]
    return [*first, *ranking[np.cumsum(sizes[ranking]) <= room].tolist()]


def _best_of_file(asked: ScoringInput) -> Scores:
    """BM25 of the best unit of the file, for each unit, float32 [U]."""
    starts = asked.workspace.unit_starts
    best = np.maximum.reduceat(np.append(asked.matches.words, 0), starts[:-1]) * (np.diff(starts) > 0)
    return asked.workspace.by_unit(np.asarray(best, np.float32))


def _by_rule(question: Question, workspace: Workspace, sizes: NDArray[np.int32], tokens: int) -> list[int]:
    """The units that are kept whatever their score: at the cursor, of an overview, and definitions asked for."""
    asked = [*defining(question, workspace), *overview_units(workspace, question)]
    asked = [n for n in asked if question.scope is None or n in question.scope.units]
    first = fitting(asked[:1], sizes, tokens)
    found = [*first, *fitting(asked[1:], sizes, int(_LARGEST_SHARE * tokens - sizes[first].sum()))]
    if question.cursor is None:
        return found
    focus = WorkspaceUnits(workspace, sizes, len).focus(question.cursor)
    return [*focus.units, *focus.companions, *found]


def _sizes(workspace: Workspace) -> NDArray[np.int32]:
    """About how many tokens each unit has, int32 [U]."""
    return np.asarray(np.maximum(workspace.unit_bytes * TOKENS_PER_BYTE, 1), np.int32)
