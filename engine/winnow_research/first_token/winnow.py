"""Winnow as a user has it: cold, warm, after an edit, and a follow-up."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Kept, Progress, Sampling, ignore
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.parse_pool import ParsePool
from winnow_engine.question import Question, Turn
from winnow_engine.reranker.background import BackgroundReranker
from winnow_engine.storage.store import Store
from winnow_engine.targets.answer import Answer
from winnow_engine.targets.base import Target
from winnow_research.evaluation.cases import Case
from winnow_research.first_token.timed import TimedAnswer, with_rest
from winnow_research.first_token.workspaces import KeptGold, SizedWorkspace, kept_gold

COLD, WARM, FOLLOW_UP, EDITED = "cold", "warm", "follow-up", "edited"
STATES = (COLD, WARM, EDITED, FOLLOW_UP)
_FOLLOW_UP = "And where is that tested?"
_SHORT = Sampling(max_tokens=8)  # random weights soon repeat themselves, and repetitions are not remembered


@dataclass
class WinnowRun:
    """Asks the assistant. Models are loaded and processes started; each repetition has an index of its own."""

    drafter: Drafter
    reranker: BackgroundReranker | None
    target: Target
    parse_pool: ParsePool
    cancellation: Cancellation

    def warm_up(self, workspace: SizedWorkspace) -> None:
        """Compile what is compiled once on a machine, and have the target read something."""
        with self.opened() as assistant:
            self._ask(assistant, workspace, Question(_FOLLOW_UP), Budget(256))

    def repetition(self, workspace: SizedWorkspace, budget: Budget, number: int) -> dict[str, TimedAnswer]:
        """An answer in each state, each to another question; the follow-up to the warm one.

        The edit adds a line to the middle file, which is as before afterwards.
        """
        cases = workspace.cases
        cold, warm, edited = (cases[(number + step) % len(cases)] for step in range(3))
        found = {}
        with self.opened() as assistant:
            found[COLD], _ = self._case(assistant, workspace, cold, budget)
            found[WARM], answer = self._case(assistant, workspace, warm, budget)
            turn = Turn(warm.question.text, answer.text)
            found[FOLLOW_UP], _ = self._ask(assistant, workspace, Question(_FOLLOW_UP, earlier=(turn,)), budget)
            with _edited(workspace, number):
                found[EDITED], _ = self._case(assistant, workspace, edited, budget)
        return found

    def kept(self, workspace: SizedWorkspace, budgets: Sequence[Budget]) -> list[list[KeptGold]]:
        """What each budget keeps of the golds of every question, without asking the target."""
        with self.opened() as assistant:
            return [[self._kept(assistant, workspace, case, budget) for case in workspace.cases] for budget in budgets]

    def _kept(self, assistant: Assistant, workspace: SizedWorkspace, case: Case, budget: Budget) -> KeptGold:
        selection = assistant.select(workspace.sources, case.question, budget, cancellation=self.cancellation)
        return kept_gold(case, selection.spans)

    @contextmanager
    def opened(self) -> Iterator[Assistant]:
        """An assistant with an empty index and the loaded models."""
        with tempfile.TemporaryDirectory() as folder, closing(Store(Path(folder, "index.sqlite"))) as store:
            assistant = Assistant(
                store,
                lambda: self.drafter,
                lambda: self.target,
                parse_pool=self.parse_pool,
                open_reranker=lambda drafter: self.reranker,
            )
            assistant.keys.wait_for(self.cancellation)
            assert assistant.target is not None
            assistant.target.wait_for(self.cancellation)
            if self.reranker is not None:
                self.reranker.begin().wait_for(self.cancellation)  # a question does for two seconds at most
            yield assistant

    def _case(
        self, assistant: Assistant, workspace: SizedWorkspace, case: Case, budget: Budget
    ) -> tuple[TimedAnswer, Answer]:
        return self._ask(assistant, workspace, case.question, budget, case)

    def _ask(
        self,
        assistant: Assistant,
        workspace: SizedWorkspace,
        question: Question,
        budget: Budget,
        case: Case | None = None,
    ) -> tuple[TimedAnswer, Answer]:
        """Ask, and time the call by a clock of its own: until the target starts to read, then to the first token."""
        fitted, encoded = [0.0], [0]
        started = time.perf_counter()

        def on_kept(_: Kept) -> None:
            fitted[0] = time.perf_counter() - started

        def on_progress(progress: Progress) -> None:
            if progress.stage == "index":
                encoded[0] = max(encoded[0], progress.tokens)

        answer = assistant.ask(
            workspace.sources, question, budget, _SHORT, ignore, on_progress, self.cancellation, on_kept
        )
        stats = answer.stats
        seconds = fitted[0] + (stats.generation.first_token_s or 0.0)
        timed = TimedAnswer(
            question.text,
            seconds,
            with_rest(dict(stats.stages), seconds),
            stats.generation.prompt_tokens,
            stats.generation.reused_tokens,
            encoded[0],
            stats.selection.kept_tokens,
            None if case is None else kept_gold(case, answer.spans).whole,
            (stats.generation.decode_tokens - 1) / max(stats.generation.decode_s, 1e-6),
        )
        return timed, answer


@contextmanager
def _edited(workspace: SizedWorkspace, number: int) -> Iterator[None]:
    """The workspace with a line more at the end of its middle file."""
    files = workspace.scene.files
    middle = files[len(files) // 2]
    place = workspace.root / middle.path
    place.write_bytes(middle.data + f"\n// edited {number}\n".encode())
    try:
        yield
    finally:
        place.write_bytes(middle.data)
