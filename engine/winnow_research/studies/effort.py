"""What does a second look with the effort `deep` add to what is kept, and what does it cost?

Each question of *real* about some repositories is asked as usual and with the effort `deep`, in one process, with
answers of one token. `equal` is what the scores alone keep of as many tokens as `deep` has. The target has read the
usual prompt when `deep` asks it what it misses, so `extra_s` is what that costs a user besides. A question is `right`
if the second look added lines of a gold that were not kept before.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.config import TargetOptions
from winnow_engine.core import Budget, Cancellation, Effort, Kept, Sampling, Span
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.prompting.missing import ONE_LINE
from winnow_engine.question import Question
from winnow_engine.store import Store
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.cases import Case
from winnow_research.evaluation.corpus import corpus_of
from winnow_research.evaluation.repositories import Split
from winnow_research.evaluation.run import laid_out
from winnow_research.evaluation.tasks import all_tasks
from winnow_research.machine import report
from winnow_research.studies import study_parser

_ALL = 10_000  # questions: all that there are


class Overheard(LlamaTarget):
    """A target that remembers the lines in which it said what it misses."""

    said: list[str]

    def generate(self, request: Request[Any]) -> Generation:
        """See `Target.generate`."""
        generation = super().generate(request)
        if request.sampling == ONE_LINE:
            self.said.append(generation.text)
        return generation


@dataclass
class Row:
    """One question. `kept` has the golds' lines kept, by way; `lines` is how many there are."""

    question: str
    lines: int
    said: list[str]
    looking_for: list[str]
    kept: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    extra_s: float = 0.0

    @property
    def right(self) -> bool:
        """Whether the second look added lines of a gold."""
        return self.kept["deep"] > self.kept["normal"]


@dataclass(frozen=True)
class Asking:
    """Asks about one repository."""

    assistant: Assistant
    target: Overheard
    sources: Sources
    budget: int

    def row(self, case: Case) -> Row:
        """One question in all ways."""
        self.target.said = []
        missed: list[str] = []
        row = Row(case.question.text, len(_lines(case.golds)), self.target.said, missed)
        for effort in ("normal", "deep"):
            spans, stages = self._ask(case.question, effort, missed)
            self._note(row, effort, spans, case)
        row.extra_s = stages["look_again"] + stages["prefill"]
        equal = self.assistant.select(self.sources, case.question, Budget(keep_tokens=row.tokens["deep"]))
        self._note(row, "equal", equal.spans, case)
        print(row, file=sys.stderr)
        return row

    def _ask(self, question: Question, effort: Effort, missed: list[str]) -> tuple[tuple[Span, ...], dict[str, float]]:
        def told(kept: Kept) -> None:
            missed.extend(kept.looking_for)

        budget = Budget(keep_tokens=self.budget, effort=effort)
        answer = self.assistant.ask(
            self.sources, question, budget, Sampling(max_tokens=1), lambda _: None, on_kept=told
        )
        return answer.spans, dict(answer.stats.stages)

    def _note(self, row: Row, way: str, spans: Sequence[Span], case: Case) -> None:
        row.kept[way] = len(_lines(case.golds) & _lines(spans))
        row.tokens[way] = sum(span.tokens for span in spans)


def _lines(places: Sequence[Any]) -> set[tuple[str, int]]:
    return {(place.path, line) for place in places for line in range(place.start_line, place.end_line + 1)}


def table(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures: shares of questions are of all, but of `right`, which is of those for which code was added."""

    def share(some: Sequence[bool]) -> float:
        return round(100 * sum(some) / max(len(some), 1), 1)

    ways: dict[str, Any] = {
        way: {
            "all_golds": share([row.kept[way] == row.lines for row in rows]),
            "lines": round(100 * sum(row.kept[way] / row.lines for row in rows) / len(rows), 1),
            "tokens": round(sum(row.tokens[way] for row in rows) / len(rows)),
        }
        for way in ("normal", "deep", "equal")
    }
    added = [row for row in rows if row.looking_for]
    missing = [row for row in rows if row.kept["normal"] < row.lines]
    return {
        "questions": len(rows),
        **ways,
        "said_something": share([row.said[:1] != [] and "nothing" not in row.said[0].lower() for row in rows]),
        "led_to_code": share([bool(row.looking_for) for row in rows]),
        "right": share([row.right for row in added]),
        "lacked_a_gold": len(missing),
        "right_of_these": sum(row.right for row in missing),
        "extra_s": {
            name: round(sorted(row.extra_s for row in some)[len(some) // 2], 2)
            for name, some in (("all", rows), ("where code was added", added))
            if some
        },
    }


def _rows(given: argparse.Namespace) -> Iterator[Row]:
    drafter_file, never = locate(DEFAULT_DRAFTER), Cancellation()
    corpus = corpus_of(given.split, drafter_file, _ALL)
    corpora = [replace(corpus, asked=name) for name in given.repository]
    drafter, target = Drafter(drafter_file), Overheard.open(locate(given.target), TargetOptions())
    assert isinstance(target, Overheard)
    with (
        closing(Store(cache_path())) as store,
        closing(Assistant(store, lambda: drafter, lambda: target)) as assistant,
        tempfile.TemporaryDirectory() as folder,
    ):
        for scene in (scene for one in corpora for scene in all_tasks()["real"].scenes(one, 0)):
            root = Path(folder) / scene.name
            root.mkdir()
            subject = laid_out(scene, root, store, corpus.count, never)
            assistant.index(subject.sources)
            asking = Asking(assistant, target, subject.sources, given.budget)
            yield from map(asking.row, scene.cases[: given.questions])


def main() -> None:
    """Measure, print, write results/effort.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--split", type=Split, default=Split.DEVELOPMENT)
    parser.add_argument("--repository", nargs="+", default=["fastify", "cordova-android"])
    parser.add_argument("--questions", type=int, default=_ALL, help="about each repository, at most")
    parser.add_argument("--target", default=DEFAULT_TARGET)
    parser.add_argument("--budget", type=int, default=1200)
    given = parser.parse_args()
    rows = list(_rows(given))
    figures = {"split": given.split, "repositories": given.repository, "target": given.target, "budget": given.budget}
    report("effort", {**figures, **table(rows)})


if __name__ == "__main__":
    main()
