"""A GPU of which only a part is free: a target is opened there as by a user, and its times are foretold."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from winnow_engine.config import ModelConfig, TargetOptions
from winnow_engine.platform import free_memory
from winnow_engine.targets.opening import local_options, room_for_reranker
from winnow_engine.targets.placement import in_words, placed
from winnow_engine.targets.residency import CONTEXT_TOKENS, left_for_target, measure
from winnow_engine.targets.suggesting import Suggestion, described, drafter_of, suggest
from winnow_research.errors import EvaluationError

_HOLD = """import sys; from winnow_cuda.device import open_device; device = open_device(); device.activate()
device.call("cuMemAlloc", max(1, device.free_memory() - int(sys.argv[1]))); print(flush=True); sys.stdin.read()"""
_MASK_BYTES = 2048 * 6  # of a token in memory, for the largest batch


@contextmanager
def limited(gigabytes: float) -> Iterator[None]:
    """Leave so much of the GPU free: a process holds the rest until the block, or this process, ends."""
    command = [sys.executable, "-c", _HOLD, str(int(gigabytes * 1e9))]
    with Popen(command, stdin=PIPE, stdout=PIPE) as child:
        if child.stdout is None or not child.stdout.readline():
            raise EvaluationError("nothing could hold the GPU's memory: run `winnow doctor`")
        yield


@dataclass(frozen=True)
class Placement:
    """How `auto` opens a target beside drafter and reranker, without a draft; `left` bytes of the GPU are for it."""

    options: TargetOptions
    left: int
    reranks: bool
    foretold: Suggestion

    @classmethod
    def of(cls, drafter: Path, name: str, target: Path, patience_s: float) -> Placement:
        """By the memory that is free now."""
        models = ModelConfig(str(drafter), str(target))
        options = replace(local_options(models), speculate="off", snapshot_bytes=None)
        left, reranks = left_for_target(measure(drafter, target, options)), room_for_reranker(models, answers=True)
        about = [described(str(target), target)]
        (foretold,) = suggest(drafter_of(name), free_memory(), patience_s, about)
        return cls(options, left, reranks, foretold)

    def whole(self, options: TargetOptions, tokens: int) -> TargetOptions:
        """The options with the best place for a prompt of so many tokens."""
        model, room = self.foretold.model, tokens * 17 // 16 + 8192
        larger = replace(model, token_bytes=model.token_bytes * room // CONTEXT_TOKENS)
        return placed(larger, self.left - room * _MASK_BYTES, options) or replace(options, place="cpu")

    def report(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The place, and of a state's answers what was foretold and what was measured."""
        read, forecast = int(row["prompt_tokens"] - row["reused_tokens"]), self.foretold.forecast
        place = {"place": self.options.place, "split": in_words(self.options, self.foretold.model.layers)}
        first = {"forecast_s": forecast and forecast.reads_s(read), "first_token_s": row["stages_s"]["prefill"]}
        rates = {"forecast_per_s": self.foretold.answer_tokens_per_s, "tokens_per_s": row["tokens_per_s"]}
        return {**place, "suggested": self.foretold.split, "reranks": self.reranks, "read": read, **first, **rates}
