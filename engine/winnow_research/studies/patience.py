"""What does patience cost? Golds kept by `auto` for a target that may read so many tokens, for hand-written questions.

`auto` is asked what it would keep for a target that reads fast. Each limit then bounds that, as patience does: nothing
is answered, so the machine does not matter.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Folder, Span
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.store import Store
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.cases import Case, Gold
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.tasks.real import scenes
from winnow_research.machine import report
from winnow_research.studies import study_parser

LIMITS = (400, 600, 800, 1000, 1200, 1600, 2000, 2600, 4000, 6000)


def is_kept(gold: Gold, spans: Sequence[Span]) -> bool:
    """Whether every line of the gold is in some span."""
    shown = {line for one in spans if one.path == gold.path for line in range(one.start_line, one.end_line + 1)}
    return set(range(gold.start_line, gold.end_line + 1)) <= shown


def kept(assistant: Assistant, sources: Sources, case: Case) -> dict[int, dict[str, float]]:
    """Tokens and golds kept of a question, by limit."""
    wanted = assistant.select(sources, case.question, Budget()).stats.budget_tokens
    found = {}
    for limit in LIMITS:
        selection = assistant.select(sources, case.question, Budget(max(1, min(wanted, limit))))
        golds = [is_kept(gold, selection.spans) for gold in case.golds]
        any_file = {gold.path for gold in case.golds} & {span.path for span in selection.spans}
        found[limit] = {
            "tokens": selection.stats.kept_tokens,
            "all_golds": all(golds),
            "golds": fmean(golds),
            "any_file": bool(any_file),
        }
    return found


def asked(assistant: Assistant, corpus: Corpus) -> Iterator[dict[int, dict[str, float]]]:
    """What is kept for every hand-written question about the corpus."""
    for scene in scenes(corpus, 0):
        with tempfile.TemporaryDirectory() as folder:
            scene.write(Path(folder))
            for case in scene.cases:
                yield kept(assistant, Sources((Folder(Path(folder)),)), case)


def means(rows: Sequence[Mapping[int, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """The mean of each figure over all questions, by limit."""
    return {
        str(limit): {name: round(fmean(row[limit][name] for row in rows), 3) for name in rows[0][limit]}
        for limit in LIMITS
    }


def main() -> None:
    """Select, print, write results/patience.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("repositories", nargs="*", metavar="REPOSITORY", help="those of the split if none")
    parser.add_argument("--split", choices=[str(split) for split in Split], default=str(Split.DEVELOPMENT))
    parser.add_argument("--drafter", default=DEFAULT_DRAFTER)
    options = parser.parse_args()
    drafter = Drafter(locate(options.drafter))
    names = options.repositories
    chosen = tuple(one for one in repositories(Split(options.split)) if one.name in names or not names)
    with closing(Store(cache_path())) as store, closing(Assistant(store, lambda: drafter)) as assistant:
        rows = list(asked(assistant, Corpus(chosen, drafter.count)))
    document: dict[str, Any] = {"split": options.split, "questions": len(rows), "limits": means(rows)}
    report("patience", document)


if __name__ == "__main__":
    main()
