"""Unit features: what speaks for each unit, on scales that weights can compare.

Dense features (the drafter's scores, words) are deviations from the workspace's mean, at most 6. Sparse ones, which
are 0 for most units (names, titles, paths), stay as they are, at most 2. What a unit is (imports, prose, tests) is 0
or 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores, UnitKind
from winnow_engine.index.name_rules import is_test
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.asked_question import AskedQuestion

_MOST_DENSE, _MOST_SPARSE = 6.0, 2.0
_LEADERS = 24  # units whose files, users and used definitions score higher
_WORDS_SCALE = 0.1  # BM25 of a name or path is of the order of 10
_USUAL_BYTES = 400
_FILE = re.compile(r"[\w./-]*\w\.[A-Za-z]\w{0,4}\b")
_PROSE = (UnitKind.SECTION, UnitKind.BLOCK)
_HEADERS = (UnitKind.CLASS_HEADER, UnitKind.TOP_LEVEL)
_DEFINITIONS = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)


def unit_features(asked: AskedQuestion) -> dict[str, Scores]:
    """All features by name, float32 [U] each; of the question as a whole, not of its sub-questions."""
    features = {name: zscore(scores) for name, scores in asked.drafter_scores.items()}
    features.update({name: compute(asked) for name, compute in _FEATURES.items()})
    features.update(_neighbour_features(asked, _leaders(features, len(asked.drafter_scores))))
    return features


def zscore(scores: Scores) -> Scores:
    """(x − mean) / deviation along the last axis, at most ±6, float32; zeros where nothing differs.

    Of one question's scores some may be NaN, unknown: these are left out, and get 0.
    """
    if not scores.shape[-1]:
        return scores
    known = ~np.isnan(scores)
    if not known.all():
        found = np.zeros_like(scores)
        found[known] = zscore(scores[known])
        return found
    centred = scores - scores.mean(axis=-1, keepdims=True)
    deviation = scores.std(axis=-1, keepdims=True)
    deviations = np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 1e-9)
    return np.asarray(np.clip(deviations, -_MOST_DENSE, _MOST_DENSE), np.float32)


def _capped(scores: Scores) -> Scores:
    return np.asarray(np.minimum(scores, _MOST_SPARSE), np.float32)


def _titles(asked: AskedQuestion) -> Scores:
    return _capped(asked.workspace.titles.score(asked.text) * _WORDS_SCALE)


def _paths(asked: AskedQuestion) -> Scores:
    return asked.workspace.by_unit(_capped(asked.workspace.paths.score(asked.text) * _WORDS_SCALE))


def _files(asked: AskedQuestion) -> Scores:
    """1 / √(files that match) for the units of files that the question names, by their path or the end of it."""
    named = [f"/{name.strip('./')}" for name in _FILE.findall(asked.text)]
    found = np.array([any(f"/{file.path}".endswith(name) for name in named) for file in asked.workspace.files])
    return asked.workspace.by_unit(np.asarray(found / np.sqrt(max(found.sum(), 1)), np.float32))


def _tests(asked: AskedQuestion) -> Scores:
    return asked.workspace.by_unit(np.array([is_test(file.path) for file in asked.workspace.files], np.float32))


def _size(asked: AskedQuestion) -> Scores:
    return np.asarray(np.clip(np.log(asked.workspace.unit_bytes / _USUAL_BYTES), -3, 3), np.float32)


def _is(*kinds: UnitKind) -> Callable[[AskedQuestion], Scores]:
    numbers = [list(UnitKind).index(kind) for kind in kinds]
    return lambda asked: np.isin(asked.workspace.unit_kinds, numbers).astype(np.float32)


_is_header, _is_definition = _is(*_HEADERS), _is(*_DEFINITIONS)


def _headers(asked: AskedQuestion) -> Scores:
    """1 for what stands around definitions. 0 in a file without any, such as settings: there it is the content."""
    defining = _by_file(asked.workspace, _is_definition(asked)) > 0
    return _is_header(asked) * asked.workspace.by_unit(defining.astype(np.float32))


_FEATURES: dict[str, Callable[[AskedQuestion], Scores]] = {
    "words": lambda asked: zscore(asked.words),
    "titles": _titles,
    "paths": _paths,
    "files": _files,
    "names": lambda asked: _capped(asked.workspace.symbols.definitions(asked.names.certain)),
    "mentions": lambda asked: _capped(asked.workspace.symbols.definitions(asked.names.possible)),
    "users": lambda asked: _capped(asked.workspace.symbols.users(asked.names.certain)),
    "cursor": lambda asked: _capped(asked.workspace.symbols.definitions(asked.names_at_cursor)),
    "imports": _is(UnitKind.IMPORTS),
    "prose": _is(*_PROSE),
    "headers": _headers,
    "tests": _tests,
    "size": _size,
}


def _leaders(features: Mapping[str, Scores], drafter_features: int) -> dict[int, float]:
    """The units ahead by what directly speaks for them, each with its likelihood as a share of the first one's.

    The first `drafter_features` of the features are the drafter's.
    """
    by_drafter = list(features.values())[:drafter_features]
    of_drafter = 2 * np.mean(by_drafter, axis=0) if by_drafter else np.float32(0.0)
    ahead = of_drafter + features["words"] / 2 + 2 * features["names"] + 3 * features["cursor"]
    first = np.argsort(-ahead, kind="stable")[:_LEADERS]
    return {int(unit): float(np.exp(ahead[unit] - ahead[first[0]])) for unit in first}


def _neighbour_features(asked: AskedQuestion, leaders: Mapping[int, float]) -> dict[str, Scores]:
    """What the leaders lead to: the rest of their files, the definitions they use, the units that use them."""
    workspace = asked.workspace
    own = np.zeros(len(workspace.units), np.float32)
    own[list(leaders)] = list(leaders.values())
    of_file = workspace.by_unit(_by_file(workspace, own))
    return {
        "file": np.asarray(np.log1p(np.maximum(of_file - own, 0)), np.float32),
        "used": _capped(workspace.symbols.used_by(leaders)),
        "using": _capped(workspace.symbols.using(leaders)),
    }


def _by_file(workspace: Workspace, of_units: Scores) -> NDArray[Any]:
    """The sum of the values of each file's units, float64 [F]."""
    starts = workspace.unit_starts
    return np.asarray(np.add.reduceat(np.append(of_units, 0.0), starts[:-1]) * (np.diff(starts) > 0))
