"""How right is the forecast of the wait? The ten questions about click, in one process, as an editor's server asks.

`foretold` is what `Kept` says, before the target reads the prompt; `after` what is said each time that a part of the
prompt is read. Both are divided by what was still to come. The first question is the first that the target ever reads.
Then another process would follow: models are opened anew, and the same questions come from snapshots. `places_s` is
when the kept code is known.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.config import TargetOptions
from winnow_engine.core import Budget, Folder, Kept, Progress, Sampling
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.question import Question
from winnow_engine.store import Store
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.click_sources import fetch, questions
from winnow_research.evaluation.cache import cache_path
from winnow_research.machine import median, report
from winnow_research.studies import study_parser

_WITHIN = 0.3


@dataclass
class Wait:
    """What was said while one question waited, and when."""

    now: Callable[[], float]
    asked_at: float
    places_at: float = 0.0
    first_at: float = 0.0
    foretold_s: float | None = None
    after: list[tuple[float, float]] = field(default_factory=list)

    def kept(self, kept: Kept) -> None:
        """The kept code is known."""
        self.places_at, self.foretold_s = self.now(), kept.seconds

    def progress(self, progress: Progress) -> None:
        """A part was read. The last part's forecast says nothing: the rest is sampling."""
        if progress.left_s:
            self.after.append((self.now(), progress.left_s))

    def text(self, _: str) -> None:
        """A piece of the answer came."""
        self.first_at = self.first_at or self.now()

    def figures(self) -> dict[str, Any]:
        """Seconds, and what was foretold by what was measured."""
        wait_s = self.first_at - self.places_at
        return {
            "places_s": round(self.places_at - self.asked_at, 2),
            "first_token_s": round(wait_s, 2),
            "foretold": None if self.foretold_s is None else round(self.foretold_s / wait_s, 2),
            "after": [round(left_s / (self.first_at - at), 2) for at, left_s in self.after],
        }


def ask(assistant: Assistant, sources: Sources, now: Callable[[], float], count: int) -> list[dict[str, Any]]:
    """The waits of so many questions, with what the target restored from snapshots."""
    rows = []
    for written in questions()[:count]:
        wait, sampling = Wait(now, now()), Sampling(max_tokens=1)
        answer = assistant.ask(
            sources, Question(written.text), Budget(), sampling, wait.text, wait.progress, on_kept=wait.kept
        )
        generation = answer.stats.generation
        rows.append({**wait.figures(), "tokens": generation.prompt_tokens, "restored": generation.restored_tokens})
        print(rows[-1], file=sys.stderr)
    return rows


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many forecasts are within 30%, and their median."""
    told: list[float] = [row["foretold"] for row in rows if row["foretold"] is not None]
    after: list[float] = [ratio for row in rows for ratio in row["after"]]
    return {
        "places_s": median([row["places_s"] for row in rows]),
        **_judged("foretold", told),
        **_judged("after", after),
    }


def _judged(name: str, ratios: list[float]) -> dict[str, Any]:
    within = sum(1 - _WITHIN <= ratio <= 1 + _WITHIN for ratio in ratios)
    return {name: f"{within} of {len(ratios)}", f"{name}_median": median(ratios) if ratios else None}


def main() -> None:
    """Measure, print, write results/forecast.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--target", default=DEFAULT_TARGET)
    parser.add_argument("--count", type=int, default=10, help="how many of the questions")
    parser.add_argument("--processor-time", action="store_true", help="of this process, where others run beside it")
    options = parser.parse_args()
    now = time.process_time if options.processor_time else time.perf_counter
    drafter, sources, target = (
        Drafter(locate(DEFAULT_DRAFTER)),
        Sources((Folder(fetch() / "src"),)),
        locate(options.target),
    )
    found: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as scratch, closing(Store(cache_path())) as store:
        os.environ["WINNOW_CACHE_DIR"] = scratch  # the snapshots are the study's own
        opened = partial(LlamaTarget.open, target, TargetOptions(snapshot_bytes=4 << 30))
        for name in ("read", "restored"):
            with closing(Assistant(store, lambda: drafter, opened)) as assistant:
                assistant.select(sources, Question(questions()[0].text), Budget())  # indexes click
                found[name] = ask(assistant, sources, now, options.count)
    report("forecast", {name: {"summary": summary(rows), "questions": rows} for name, rows in found.items()})


if __name__ == "__main__":
    main()
