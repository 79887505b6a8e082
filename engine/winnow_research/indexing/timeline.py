"""What happens to a folder: it is indexed, asked about, edited, and opened again by a new process."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Progress
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.parse_pool import ParsePool
from winnow_engine.question import Question
from winnow_engine.selection.ranking import Selection
from winnow_engine.storage.store import Store
from winnow_research.first_token.memory import watched
from winnow_research.indexing.material import Material

_BUDGET = Budget(2600)
_SETTLED_S = 3.1  # after it, a file that did not change counts as old


@dataclass
class Timeline:
    """Measures folders with a loaded drafter and started processes. `report` is told what is being done."""

    drafter: Drafter
    parse_pool: ParsePool
    repetitions: int
    report: Callable[[str], None]
    cancellation: Cancellation

    def warm_up(self, material: Material) -> None:
        """Index and ask once, so that nothing is compiled later."""
        with tempfile.TemporaryDirectory() as folder, self._opened(Path(folder)) as assistant:
            assistant.index(material.sources, cancellation=self.cancellation)
            self._asked(assistant, material, material.questions[0])

    def measure(self, material: Material) -> dict[str, Any]:
        """The figures of one folder, as JSON has them."""
        with tempfile.TemporaryDirectory() as folder:
            with self._opened(Path(folder)) as assistant:
                found = self._indexed(assistant, material, Path(folder))
                self.report("questions")
                found["question"] = self._questions(assistant, material)
                self.report("edits")
                found["edited_s"] = [self._edited(assistant, material, number) for number in range(self.repetitions)]
            self._open_again(material, Path(folder))  # a process that sees the files after they have settled
            with self._opened(Path(folder)) as assistant:
                found["new_process"] = self._first_again(assistant, material)
        return found

    def _indexed(self, assistant: Assistant, material: Material, folder: Path) -> dict[str, Any]:
        """A cold index, and the same again while nothing has changed."""
        last = [Progress("index", 0, 0)]
        with watched() as before:
            pass
        with watched() as peak:
            started = time.perf_counter()
            workspace = assistant.index(material.sources, lambda one: last.append(one), self.cancellation)
            seconds = time.perf_counter() - started
        tokens, size = max(one.tokens for one in last), sum(file.content.size for file in workspace.files)
        stored = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        return {
            "tokens": tokens,
            "files": len(workspace.files),
            "units": len(workspace.units),
            "bytes": size,
            "seconds": round(seconds, 4),
            "tokens_per_s": round(tokens / seconds),
            "stored_bytes_a_token": round(stored / max(tokens, 1), 1),
            "memory": {
                "before_bytes": before.anonymous,
                "peak_bytes": peak.anonymous,
                "peak_resident_bytes": peak.host,
                "children_bytes": peak.children,
                "device_bytes": peak.device,
            },
            "nothing_changed_s": _median([self._again(assistant, material) for _ in range(self.repetitions)]),
        }

    def _again(self, assistant: Assistant, material: Material) -> float:
        started = time.perf_counter()
        assistant.index(material.sources, cancellation=self.cancellation)
        return time.perf_counter() - started

    def _questions(self, assistant: Assistant, material: Material) -> dict[str, Any]:
        """Seconds before a target would read: of the first question, and of later ones with their stages."""
        first = self._asked(assistant, material, material.questions[0])[0]
        later = [
            self._asked(assistant, material, text) for text in (material.questions * 2)[1 : 1 + 2 * self.repetitions]
        ]
        stages = {name: _median([one.stats.stages[name] for _, one in later]) for name in later[0][1].stats.stages}
        seconds = [round(one, 4) for one, _ in later]
        return {"first_s": round(first, 4), "median_s": _median(seconds), "seconds": seconds, "stages_s": stages}

    def _asked(self, assistant: Assistant, material: Material, text: str) -> tuple[float, Selection]:
        started = time.perf_counter()
        selection = assistant.select(material.sources, Question(text), _BUDGET, cancellation=self.cancellation)
        return time.perf_counter() - started, selection

    def _edited(self, assistant: Assistant, material: Material, number: int) -> float:
        """Seconds from the save of a file until the index is fresh."""
        before = material.edited.read_bytes()
        try:
            material.edited.write_bytes(before + f"\n// edited {number}\n".encode())
            return round(self._again(assistant, material), 4)
        finally:
            material.edited.write_bytes(before)

    def _open_again(self, material: Material, folder: Path) -> None:
        """Index twice as a new process would, with files settled in between, so that nothing of them is young."""
        with self._opened(folder) as assistant:
            for _ in range(2):
                assistant.index(material.sources, cancellation=self.cancellation)
                time.sleep(_SETTLED_S)

    def _first_again(self, assistant: Assistant, material: Material) -> dict[str, float]:
        """What a new process waits for: that nothing is found to have changed, and its first question."""
        unchanged = self._again(assistant, material)
        return {
            "nothing_changed_s": round(unchanged, 4),
            "first_question_s": round(self._first(assistant, material), 4),
        }

    def _first(self, assistant: Assistant, material: Material) -> float:
        return self._asked(assistant, material, material.questions[0])[0]

    @contextmanager
    def _opened(self, folder: Path) -> Iterator[Assistant]:
        with closing(Store(folder / "index.sqlite")) as store:
            assistant = Assistant(store, lambda: self.drafter, parse_pool=self.parse_pool)
            assistant.keys.wait_for(self.cancellation)
            yield assistant


def _median(values: list[float]) -> float:
    return round(statistics.median(values), 4)
