"""How long does a selection take in a large workspace that is indexed? It is what an agent waits for.

Several pinned repositories together are the workspace, and every *real* question about one of them is asked. The
drafter is loaded, the index is complete and in memory, no file changes, and no question is asked twice in a round.
`seconds` are wall clock. Two runs with the same `digests` selected the same places, with the same scores.
Keys come from the evaluation's store; `--index` makes those that are missing, on a GPU if there is one, and asks
nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Folder
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.question import Question
from winnow_engine.selection.ranking import Selection
from winnow_engine.selection.subquestions import subquestions_of
from winnow_engine.selection.workspace_keys import TOKENS_PER_BYTE
from winnow_engine.store import Store
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.repositories import Repository, Split, repositories
from winnow_research.evaluation.tasks.real import load
from winnow_research.machine import median, report
from winnow_research.studies import study_parser


def chosen(names: Sequence[str], tokens: int) -> list[Repository]:
    """The named repositories, or as many as have about so many tokens, those with questions first."""
    known = [one for split in (Split.CALIBRATION, Split.DEVELOPMENT) for one in repositories(split)]
    if names:
        return [one for one in known if one.name in names]
    ordered = sorted(known, key=lambda one: not load(one))
    sizes = accumulate(TOKENS_PER_BYTE * sum(len(file.data) for file in one.files()) for one in ordered)
    return ordered[: 1 + sum(size < tokens for size in sizes)]


def timed(assistant: Assistant, sources: Sources, texts: Sequence[str]) -> list[tuple[float, Selection]]:
    """The selection for each question, with the seconds it took."""
    found = []
    for text in texts:
        started = time.perf_counter()
        selection = assistant.select(sources, Question(text), Budget())
        found.append((time.perf_counter() - started, selection))
    return found


def digests(selections: Iterable[Selection]) -> dict[str, str]:
    """Hashes of the places of all spans, and of their scores and features."""
    spans = [span for one in selections for span in (*one.spans, None)]
    places = [span and (span.path, span.start_line, span.end_line) for span in spans]
    scores = [span and (span.score, *span.features.items()) for span in spans]
    found = {"places": places, "scores": scores}
    return {name: hashlib.sha256(repr(values).encode()).hexdigest()[:16] for name, values in found.items()}


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    return {"p50": median(list(seconds), 4), "p95": round(float(np.percentile(seconds, 95)), 4)}


def figures(found: Sequence[tuple[float, Selection]], texts: Sequence[str]) -> dict[str, Any]:
    """How long the selections took: all of them, by stage, and by the number of sub-questions."""
    by_parts: dict[int, list[float]] = {}
    for (seconds, _), text in zip(found, texts, strict=True):
        by_parts.setdefault(len(subquestions_of(text)), []).append(seconds)
    stages = {name: percentiles([one.stats.stages[name] for _, one in found]) for name in found[0][1].stats.stages}
    return {
        "seconds": percentiles([seconds for seconds, _ in found]),
        "stages": stages,
        "by_subquestions": {n: {"asked": len(s), **percentiles(s)} for n, s in sorted(by_parts.items())},
        "digests": digests(selection for _, selection in found),
    }


def options() -> argparse.Namespace:
    """The command line."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("repositories", nargs="*", metavar="REPOSITORY", help="as many as --tokens says if none")
    parser.add_argument("--tokens", type=int, default=1_000_000, help="of the workspace, about")
    parser.add_argument("--rounds", type=int, default=1, help="how often all questions are asked")
    parser.add_argument("--index", action="store_true", help="make the missing keys and ask nothing")
    return parser.parse_args()


def main() -> None:
    """Measure, print, write results/select-speed.json."""
    given, drafter = options(), Drafter(locate(DEFAULT_DRAFTER))
    joined = chosen(given.repositories, given.tokens)
    texts = [written.text for one in joined for written in load(one)]
    with tempfile.TemporaryDirectory() as scratch, closing(Store(cache_path())) as store:
        Scene("joined", tuple(file for one in joined for file in one.files()), ()).write(Path(scratch))
        sources = Sources((Folder(Path(scratch)),))
        with closing(Assistant(store, lambda: drafter)) as assistant:
            workspace = assistant.index(sources)
            if given.index:
                return
            if drafter.reader is not None:
                drafter.reader.begin().settle()
            timed(assistant, sources, texts[:3])  # words and names are counted once for a workspace
            found = timed(assistant, sources, texts * given.rounds)
    size = {"tokens": found[0][1].stats.workspace_tokens, "files": len(workspace.files), "units": len(workspace.units)}
    measured = {"repositories": [one.name for one in joined], **size, "questions": len(texts), "drafter": drafter.place}
    report("select-speed", {**measured, "rounds": given.rounds, **figures(found, texts * given.rounds)})


if __name__ == "__main__":
    main()
