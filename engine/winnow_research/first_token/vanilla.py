"""The target alone: every file of the workspace in its prompt."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from winnow_engine.config import KvType, TargetOptions
from winnow_engine.core import Cancellation, Sampling
from winnow_engine.errors import CancelledError, WinnowError
from winnow_engine.prompting.layout import SYSTEM
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Request
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.errors import EvaluationError
from winnow_research.first_token.timed import TimedAnswer
from winnow_research.first_token.workspaces import SizedWorkspace

_ONE_TOKEN = Sampling(max_tokens=1)
_MOST_REUSED = 0.01


@dataclass(frozen=True, slots=True)
class Configuration:
    """How llama.cpp reads: tokens evaluated at once, and the type of keys and values."""

    n_ubatch: int
    kv_type: KvType

    def __str__(self) -> str:
        return f"ubatch {self.n_ubatch}, {self.kv_type}"


CONFIGURATIONS = tuple(Configuration(size, kind) for kind in ("f16", "q8_0") for size in (2048, 512))


@dataclass
class Vanilla:
    """Measures the target alone. `order` has the configurations, the best so far first.

    `most_s` bounds the seconds a workspace may take: the first answer is always timed, another configuration or
    repetition only if it is likely to fit. `placed` says where options put a prompt of so many tokens.
    """

    target: Path
    repetitions: int
    most_s: float
    cancellation: Cancellation
    placed: Callable[[TargetOptions, int], TargetOptions] = lambda options, _: options
    order: tuple[Configuration, ...] = CONFIGURATIONS

    def measure(self, workspace: SizedWorkspace) -> dict[Configuration, list[TimedAnswer] | str]:
        """The answers of each configuration that was tried, or why there is none. All are tried once before the best
        is repeated."""
        started, found = time.perf_counter(), dict[Configuration, list[TimedAnswer] | str]()
        for configuration in self.order:
            slowest = max((answer.seconds for answer in _answers(found)), default=0.0)
            if not found or time.perf_counter() - started + slowest <= self.most_s:
                found[configuration] = self._tried(configuration, workspace, 1)
        best = min(_timed(found), key=lambda one: _timed(found)[one][0].seconds, default=None)
        if best is None:
            return found
        self.order = (best, *(one for one in self.order if one != best))
        left, a_time = self.most_s - (time.perf_counter() - started), _timed(found)[best][0].seconds
        more = min(self.repetitions - 1, int(left / a_time))
        if more > 0:
            again = self._tried(best, workspace, more, first=1)
            found[best] = [*_timed(found)[best], *([] if isinstance(again, str) else again)]
        return found

    def _tried(
        self, configuration: Configuration, workspace: SizedWorkspace, times: int, first: int = 0
    ) -> list[TimedAnswer] | str:
        options = TargetOptions(kv_type=configuration.kv_type, n_ubatch=configuration.n_ubatch, speculate="off")
        try:
            with closing(LlamaTarget.open(self.target, self.placed(options, workspace.tokens))) as target:
                return [self._ask(target, workspace, number) for number in range(first, first + times)]
        except CancelledError:
            raise
        except WinnowError as error:
            return str(error)

    def _ask(self, target: LlamaTarget, workspace: SizedWorkspace, number: int) -> TimedAnswer:
        """Time one answer, from reading the files on."""
        started = time.perf_counter()
        code = whole(workspace)
        read = time.perf_counter()
        # The number stands first, so that nothing of an earlier prompt can be reused.
        question = workspace.cases[number % len(workspace.cases)].question.text
        messages = [Message("system", f"{number}. {SYSTEM}"), Message("user", f"{code}\n\nQuestion: {question}")]
        prompt = target.chat_prompt(messages)
        tokenised = time.perf_counter()
        generation = target.generate(Request(prompt, _ONE_TOKEN, cancellation=self.cancellation))
        self.cancellation.check()
        if generation.reused_tokens > _MOST_REUSED * len(prompt):
            raise EvaluationError(f"{generation.reused_tokens} tokens of vanilla's prompt were in memory: a bug here")
        prefill = generation.first_token_s or 0.0
        stages = {"read": read - started, "tokenise": tokenised - read, "prefill": prefill}
        return TimedAnswer(
            question, tokenised - started + prefill, stages, generation.prompt_tokens, generation.reused_tokens
        )


def whole(workspace: SizedWorkspace) -> str:
    """All files as text, each under its path, read from disk."""
    paths = [file.path for file in workspace.scene.files]
    return "\n\n".join(f"{path}\n{(workspace.root / path).read_text('utf-8', 'replace')}" for path in paths)


def best_of(found: dict[Configuration, list[TimedAnswer] | str]) -> tuple[Configuration, Sequence[TimedAnswer]] | None:
    """The configuration whose first answer was fastest, with its answers; None if there is none."""
    timed = _timed(found)
    best = min(timed, key=lambda one: timed[one][0].seconds, default=None)
    return None if best is None else (best, timed[best])


def _timed(found: dict[Configuration, list[TimedAnswer] | str]) -> dict[Configuration, list[TimedAnswer]]:
    return {one: answers for one, answers in found.items() if not isinstance(answers, str)}


def _answers(found: dict[Configuration, list[TimedAnswer] | str]) -> list[TimedAnswer]:
    return [answer for answers in _timed(found).values() for answer in answers]
