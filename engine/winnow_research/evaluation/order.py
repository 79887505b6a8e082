"""The order in which a ranking shows code: how early what is wanted comes, and what stands in its place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from winnow_research.evaluation.cases import Case
from winnow_research.evaluation.methods.base import Ranking, Subject

_AT = 10
_DUMPED = 100


def shown(ranking: Ranking, case: Case, subject: Subject) -> list[int]:
    """Units in the order in which they are shown. Those at the cursor are given, not found."""
    given = subject.workspace.units_at(case.question.cursor) if case.question.cursor else range(0)
    return [unit for unit in ranking.order.tolist() if unit not in given]


def unit_ndcg(order: Sequence[int], case: Case, subject: Subject) -> float:
    """NDCG of the golds within the first ten units, each where the first unit with a line of it stands."""
    places = {unit: place for place, unit in enumerate(order)}
    golds = [subject.workspace.units_at(gold) for gold in case.golds]
    return _ndcg([min(places.get(unit, len(places)) for unit in units) for units in golds])


def file_ndcg(order: Sequence[int], case: Case, subject: Subject) -> float:
    """NDCG of the golds' files within the first ten files."""
    files = dict.fromkeys(subject.workspace.files_of(order).tolist())
    places = {file: place for place, file in enumerate(files)}
    wanted = {subject.workspace.file_number(gold.path) for gold in case.golds}
    return _ndcg([places.get(file, len(places)) for file in wanted])


def _ndcg(places: Sequence[int]) -> float:
    """NDCG at 10 of what stands at these places, from 0, with gains of 1 (Järvelin and Kekäläinen 2002)."""
    best = sum(1 / math.log2(2 + place) for place in range(min(len(places), _AT)))
    return sum(1 / math.log2(2 + place) for place in places if place < _AT) / best


def dumped(ranking: Ranking, case: Case, subject: Subject) -> dict[str, Any]:
    """A case with the leading units and their features as JSON, so that rules of order can be fitted to them."""
    golds = [set(subject.workspace.units_at(gold)) for gold in case.golds]
    leading = shown(ranking, case, subject)[:_DUMPED]
    return {
        "task": case.task,
        "repository": case.repository,
        "language": case.language,
        "question": case.question.text,
        "golds": [[gold.path, gold.start_line, gold.end_line] for gold in case.golds],
        "candidates": list(_candidates(leading, ranking, golds, subject)),
    }


def _candidates(
    units: Iterable[int], ranking: Ranking, golds: Sequence[set[int]], subject: Subject
) -> Iterable[dict[str, Any]]:
    for unit in units:
        file, found = subject.workspace.units[unit]
        yield {
            "unit": unit,
            "path": file.path,
            "lines": [found.start_line, found.end_line],
            "kind": found.kind.value,
            "name": found.name,
            "tokens": int(subject.unit_tokens[unit]),
            "score": round(float(ranking.scores[unit]), 4),
            "features": dict(ranking.features(unit)),
            "golds": [number for number, gold in enumerate(golds) if unit in gold],
        }
