"""What does a first answer miss? Questions in a repository that is not indexed, against the complete index.

For every *real* question of the calibration and development splits: is something kept of any file with a gold, of all
such files, and which share of the golds is kept whole (`lines`) or are all (`all_lines`), within the budget? The
complete index first; then first looks of several sizes, each where no file has keys. `seconds` is the median
wall clock time of a selection, with the drafter loaded and the files read before.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Folder
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.question import Question
from winnow_engine.selection.ranking import Selection
from winnow_engine.store import Store
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.cases import Gold, Scene
from winnow_research.evaluation.repositories import Repository, Split, repositories
from winnow_research.evaluation.tasks.real import load
from winnow_research.machine import median, report
from winnow_research.studies import study_parser


def kept(selection: Selection, golds: Sequence[Gold]) -> dict[str, float]:
    """What a selection has of a question's golds."""
    lines: dict[str, set[int]] = {}
    for span in selection.spans:
        lines.setdefault(span.path, set()).update(range(span.start_line, span.end_line + 1))
    whole = [set(range(g.start_line, g.end_line + 1)) <= lines.get(g.path, set()) for g in golds]
    present = [g.path in lines for g in golds]
    return {
        "any_file": float(any(present)),
        "all_files": float(all(present)),
        "lines": sum(whole) / len(golds),
        "all_lines": float(all(whole)),
        "encoded_tokens": selection.stats.indexed_tokens,
    }


def asked(
    repository: Repository, drafter: Drafter, budget: Budget, only: int | None, complete: Store
) -> Iterator[dict[str, float]]:
    """What is kept for each question: by the complete index in a store, or by a first look where no file has keys."""
    with tempfile.TemporaryDirectory() as folder:
        sources = Sources((Folder(Path(folder, "root")),))
        Scene(repository.name, repository.files(), ()).write(Path(folder, "root"))
        with (
            closing(Store(Path(folder, "unseen.sqlite"))) as unseen,
            closing(Assistant(unseen if budget.first_look_tokens else complete, lambda: drafter)) as assistant,
        ):
            for written in load(repository)[:only]:
                unseen.trim(0)  # what the question before has encoded
                golds = [Gold(f"{repository.name}/{g.path}", g.start_line, g.end_line) for g in written.golds]
                started = time.perf_counter()
                with patch("winnow_engine.selection.first_look._PATIENCE_S", 0.0):  # a GPU would index all
                    selection = assistant.select(sources, Question(written.text), budget)
                yield {"seconds": time.perf_counter() - started, **kept(selection, golds)}


def row(found: Iterable[dict[str, float]]) -> dict[str, Any]:
    """The means in percent, and medians of what it costs."""
    rows = list(found)
    shares = ("any_file", "all_files", "lines", "all_lines")
    means = {name: round(100 * statistics.mean(one[name] for one in rows), 1) for name in shares}
    costs = {name: median([one[name] for one in rows]) for name in ("encoded_tokens", "seconds")}
    return {"questions": len(rows), **means, **costs}


def main() -> None:
    """Measure, print, write results/first_look.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("repositories", nargs="*", metavar="REPOSITORY", help="those of both splits if none")
    parser.add_argument("--look", type=int, nargs="+", default=[8000, 12000], help="tokens to encode")
    parser.add_argument("--budget", type=int, default=2600, help="tokens to keep")
    parser.add_argument("--questions", type=int, help="of each repository; all if not given")
    parser.add_argument("--drafter", default=DEFAULT_DRAFTER)
    options = parser.parse_args()
    drafter = Drafter(locate(options.drafter))
    rows: list[dict[str, Any]] = []
    with closing(Store(cache_path())) as store:
        for split, tokens in product((Split.CALIBRATION, Split.DEVELOPMENT), [0, *options.look]):
            chosen = [one for one in repositories(split) if load(one)]
            chosen = [one for one in chosen if one.name in options.repositories or not options.repositories]
            budget = Budget(options.budget, first_look_tokens=tokens)
            found = [one for each in chosen for one in asked(each, drafter, budget, options.questions, store)]
            if found:
                rows.append({"split": split.value, "look": tokens or "complete", **row(found)})
                print(rows[-1], file=sys.stderr, flush=True)
    report("first_look", {"budget": options.budget, "drafter": options.drafter, "rows": rows})


if __name__ == "__main__":
    main()
