"""Unit features, on scales that weights can compare.

Dense features (the drafter's scores, words) are deviations from the workspace's mean, at most 6. Sparse ones (names,
titles, paths) stay as they are, at most 2. Kinds of unit (imports, prose, tests) are 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores, UnitKind
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.candidates import best, highest, united
from winnow_engine.selection.literals import wants_tests
from winnow_engine.selection.scoring_input import Links, Moments, ScoringInput

_MOST_DENSE, _MOST_SPARSE = 6.0, 2.0
_LEADERS = 24  # units whose files, users and used definitions score higher
_WORDS_SCALE = 0.1  # BM25 of a name or path is of the order of 10
_USUAL_BYTES = 400
_EACH = np.ones(1, np.float32)
_HEADERS = (UnitKind.CLASS_HEADER, UnitKind.TOP_LEVEL)


def unit_features(asked: ScoringInput) -> dict[str, Scores]:
    """All features of the scored units by name, float32 [C] each; of the question, not of its sub-questions."""
    features = _direct_features(asked)
    return features | _neighbour_features(asked, asked.links or _links(asked, features))


def links_of(asked: ScoringInput) -> Links:
    """The leaders among the scored units, and the code that they lead to."""
    return _links(asked, _direct_features(asked))


def neighbours(workspace: Workspace, links: Links, most: int) -> NDArray[np.int64]:
    """The units that the leaders lead to, int64: the likeliest by each feature, at most so many."""
    files = highest(np.asarray(links.files, np.float32), len(links.leaders))
    beside = workspace.units_of(file for file in files if links.files[file])[:most]
    return united([beside, *(best(scores, most) for scores in (links.used, links.using))])


def _direct_features(asked: ScoringInput) -> dict[str, Scores]:
    """The features that need no leaders, those of the drafter first."""
    features = {name: _standardised(asked, name) for name in asked.drafter_scores}
    features.update({name: compute(asked) for name, compute in _FEATURES.items()})
    return features


def _standardised(asked: ScoringInput, name: str) -> Scores:
    """One of the drafter's scores as deviations from the mean of all units, estimated from candidates."""
    scores, moments = asked.drafter_scores[name], asked.moments.get(name)
    return zscore(scores, asked.scored.weights) if moments is None else _deviations(scores, moments)


def zscore(scores: Scores, weights: Scores = _EACH) -> Scores:
    """(x − mean) / deviation, at most ±6, float32; zeros where nothing differs.

    Each counts as often as `weights` says, float32 [C] or [1]. NaN is unknown: it does not count, and gets 0.
    """
    known = ~np.isnan(scores)
    values, counts = scores[known], np.broadcast_to(weights, scores.shape)[known]
    if (weights == 1).all():
        return _deviations(scores, Moments(values.mean(), values.std())) if len(values) else np.zeros_like(scores)
    exact = values.astype(np.float64)
    mean = np.average(exact, weights=counts)
    variance = np.average((exact - mean) ** 2, weights=counts)
    return _deviations(scores, Moments(np.float32(mean), np.float32(np.sqrt(variance))))


def _deviations(scores: Scores, moments: Moments) -> Scores:
    """(x − mean) / deviation, at most ±6, float32; zeros where nothing differs, and for NaN."""
    if not moments.deviation > 1e-9:
        return np.zeros_like(scores)
    deviations = (scores - moments.mean) / moments.deviation
    return np.asarray(np.clip(np.nan_to_num(deviations), -_MOST_DENSE, _MOST_DENSE), np.float32)


def _capped(scores: Scores) -> Scores:
    return np.asarray(np.minimum(scores, _MOST_SPARSE), np.float32)


def _words(asked: ScoringInput) -> Scores:
    words = asked.matches.words
    return _deviations(asked.pick(words), Moments(words.mean(), words.std())) if len(words) else words


def _files(asked: ScoringInput) -> Scores:
    """1 / √(files that match) for the units of files that the question names, by their path or the end of it."""
    found = np.zeros(len(asked.workspace.files))
    found[asked.matches.files] = 1
    return np.asarray(found / np.sqrt(max(found.sum(), 1)), np.float32)[asked.file_numbers]


def _size(asked: ScoringInput) -> Scores:
    return np.asarray(np.clip(np.log(asked.pick(asked.workspace.unit_bytes) / _USUAL_BYTES), -3, 3), np.float32)


def _is(*kinds: UnitKind) -> Callable[[ScoringInput], Scores]:
    numbers = [list(UnitKind).index(kind) for kind in kinds]
    return lambda asked: np.isin(asked.pick(asked.workspace.unit_kinds), numbers).astype(np.float32)


def _headers(asked: ScoringInput) -> Scores:
    """1 for code around definitions; 0 in a file without any, such as settings, where it is the content."""
    return _is(*_HEADERS)(asked) * asked.workspace.file_table.define.astype(np.float32)[asked.file_numbers]


def _tests(named: bool) -> Callable[[ScoringInput], Scores]:
    """1 for units of tests, examples and benchmarks, where words name these, or where none do; then also of copies."""

    def found(asked: ScoringInput) -> Scores:
        are_tests = asked.workspace.file_table.are_tests & (wants_tests(asked.text, asked.workspace) == named)
        copies = asked.workspace.are_copies
        return (are_tests & ~copies if named else are_tests | copies).astype(np.float32)[asked.file_numbers]

    return found


_FEATURES: dict[str, Callable[[ScoringInput], Scores]] = {
    "words": _words,
    "titles": lambda asked: _capped(asked.pick(asked.matches.titles) * _WORDS_SCALE),
    "paths": lambda asked: _capped(asked.matches.paths * _WORDS_SCALE)[asked.file_numbers],
    "files": _files,
    "names": lambda asked: _capped(asked.pick(asked.matches.defined)),
    "mentions": lambda asked: _capped(asked.pick(asked.matches.mentioned)),
    "users": lambda asked: _capped(asked.pick(asked.matches.users)),
    "cursor": lambda asked: _capped(asked.pick(asked.matches.defined_for_cursor)),
    "imports": _is(UnitKind.IMPORTS),
    "prose": _is(UnitKind.SECTION, UnitKind.BLOCK),
    "headers": _headers,
    "tests": _tests(named=False),
    "named_tests": _tests(named=True),
    "size": _size,
}


def _leaders(features: Mapping[str, Scores], drafter_features: int) -> dict[int, float]:
    """The leading units by their direct features, as places in these, with likelihoods as shares of the first one's.

    The first `drafter_features` of the features are the drafter's.
    """
    by_drafter = list(features.values())[:drafter_features]
    of_drafter = 2 * np.mean(by_drafter, axis=0) if by_drafter else np.float32(0.0)
    ahead = of_drafter + features["words"] / 2 + 2 * features["names"] + 3 * features["cursor"]
    first = np.argsort(-ahead, kind="stable")[:_LEADERS]
    return {int(unit): float(np.exp(ahead[unit] - ahead[first[0]])) for unit in first}


def _links(asked: ScoringInput, features: Mapping[str, Scores]) -> Links:
    """The leaders by these features, and the code that they lead to."""
    places = _leaders(features, len(asked.drafter_scores))
    units, symbols = asked.scored.units, asked.workspace.symbols
    leaders = {int(units[place]): share for place, share in places.items()}
    ordered, of_files = sorted(leaders), np.zeros(len(asked.workspace.files))
    shares = np.array([leaders[unit] for unit in ordered], np.float32)
    np.add.at(of_files, asked.workspace.files_of(ordered), shares)
    return Links(leaders, of_files, symbols.used_by(leaders), symbols.using(leaders))


def _neighbour_features(asked: ScoringInput, links: Links) -> dict[str, Scores]:
    """The features of units that leaders lead to: in their files, used by them, or using them."""
    units = asked.scored.units
    own = np.zeros(len(units), np.float32)
    own[np.searchsorted(units, list(links.leaders))] = list(links.leaders.values())
    return {
        "file": np.asarray(np.log1p(np.maximum(links.files[asked.file_numbers] - own, 0)), np.float32),
        "used": _capped(asked.pick(links.used)),
        "using": _capped(asked.pick(links.using)),
    }
