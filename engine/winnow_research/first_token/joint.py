"""The published method on the same prompts: the whole drafter reads the whole prompt jointly, and chunks are kept.

FlashPrefill chooses the blocks that a pass attends to (`winnow_cuda/gpu/sparse_attention.py`), all layers and heads
vote, and the best twentieth of the chunks of 32 tokens goes to the target (`evaluation/methods/published.py`, pflash).
Nothing can be cached: the question is part of the prompt.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.device import availability, open_device
from winnow_cuda.shapes import Batch, BlockRule, Encoded, Int32, Weights
from winnow_engine.core import Cancellation, Sampling
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.kernel_cache import default_folder
from winnow_engine.models.gguf_header import read_header
from winnow_engine.prompting.layout import SYSTEM
from winnow_engine.prompting.messages import Message
from winnow_engine.storage.store import Store
from winnow_engine.targets.base import Request, Target
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.cases import Case
from winnow_research.evaluation.methods.base import Subject
from winnow_research.evaluation.methods.published import CHUNK, LOOK_AHEAD, FullDrafter, JointPrompt, context_of, pflash
from winnow_research.evaluation.run import laid_out
from winnow_research.first_token.timed import TimedAnswer
from winnow_research.first_token.workspaces import SizedWorkspace

KEEP = 0.05
RULE = BlockRule(alpha=0.08)  # as published for Qwen2
MOST_TOKENS_ON_CPU = 9000  # a minute on two cores
_ONE_TOKEN = Sampling(max_tokens=1)


@dataclass
class Joint:
    """Asks by the published method. `file` is a drafter with all its layers."""

    file: Path
    drafter: Drafter
    target: Target
    cancellation: Cancellation

    def __post_init__(self) -> None:
        header = read_header(self.file)
        last = f"blk.{header.block_count - 1}."
        if not any(name.startswith(last) for name in header.tensors):
            raise EvaluationError(f"{self.file.name} lacks layers that the published method runs: give the whole model")
        self._model = FullDrafter(self.file)
        self._behind = self._model.behind(np.empty(0, np.int32))

    def answers(self, workspace: SizedWorkspace, store: Store, questions: int) -> Iterator[tuple[TimedAnswer, float]]:
        """For each of so many questions, a timed answer and the share of its golds' tokens that was kept."""
        subject = laid_out(workspace.scene, workspace.root, store, self.drafter.count, self.cancellation)
        if not availability().usable and subject.tokens > MOST_TOKENS_ON_CPU:
            raise EvaluationError(f"without a GPU it is not run on more than {MOST_TOKENS_ON_CPU:,} tokens")
        for case in workspace.cases[:questions]:
            self.cancellation.check()
            yield self._answer(subject, case)

    def _answer(self, subject: Subject, case: Case) -> tuple[TimedAnswer, float]:
        started = time.perf_counter()
        context = context_of(subject, self._model)
        asked = self._model.question(case.question, subject)
        batch = joint_batch(np.concatenate([context.ids, asked]))
        tokenised = time.perf_counter() - started
        passed, found = self._pass(batch)
        stages = {"tokenise": tokenised, "joint pass": passed}
        kept = _kept(found, context)
        started = time.perf_counter()
        code = self._model.vocabulary.text(context.ids[kept].tolist())
        question = f"{code}\n\nQuestion: {case.question.text}"
        prompt = self.target.chat_prompt([Message("system", SYSTEM), Message("user", question)])
        stages["prompt"] = time.perf_counter() - started
        generation = self.target.generate(Request(prompt, _ONE_TOKEN, cancellation=self.cancellation))
        self.cancellation.check()
        stages["prefill"] = generation.first_token_s or 0.0
        share = share_of_golds(subject, case, context, kept)
        read, again = len(batch.ids), generation.reused_tokens
        tokens, whole = int(kept.sum()), share == 1
        seconds = sum(stages.values())
        timed = TimedAnswer(case.question.text, seconds, stages, len(prompt), again, read, tokens, whole)
        return timed, share

    def _pass(self, batch: Batch) -> tuple[float, Encoded]:
        """Seconds of a joint pass through all layers, without what scores it: less than the method takes. Its states.

        On the CPU the pass that is timed gives these, too.
        """
        every = frozenset(range(self._model.weights.shape.layers))
        started = time.perf_counter()
        found = self._behind.encode(batch, every)
        seconds = time.perf_counter() - started
        for _ in range(2 if availability().usable else 0):  # the first allocates, and compiles what no earlier run did
            seconds = self._on_device.seconds(batch)
        return seconds, found

    @cached_property
    def _on_device(self) -> _DevicePass:
        return _DevicePass(self._model.weights)


def _kept(found: Encoded, context: JointPrompt) -> NDArray[np.bool_]:
    """Mask of the context's tokens to keep, bool [S]."""
    keys = {layer: rows[: len(context.ids)] for layer, rows in found.keys.items()}
    queries = {layer: np.ascontiguousarray(rows[-LOOK_AHEAD:]) for layer, rows in found.queries.items()}
    return best_chunks(pflash(queries, keys), KEEP)


def joint_batch(ids: Int32) -> Batch:
    """One sequence that attends by FlashPrefill's rule."""
    return Batch(ids, np.arange(len(ids), dtype=np.int32), np.array([0, len(ids)]), RULE)


def best_chunks(scores: NDArray[np.float32], share: float) -> NDArray[np.bool_]:
    """Which tokens are in the best chunks, bool [S], from a score each, float32 [S]: at most a share of the chunks."""
    borders = np.arange(0, len(scores), CHUNK)
    means = np.add.reduceat(scores, borders) / np.diff([*borders, len(scores)])
    kept = np.zeros(len(borders), bool)
    kept[np.argsort(-means, kind="stable")[: max(1, int(share * len(borders)))]] = True
    return np.repeat(kept, CHUNK)[: len(scores)]


def share_of_golds(subject: Subject, case: Case, context: JointPrompt, kept: NDArray[np.bool_]) -> float:
    """The share of kept tokens among those of the units that the golds name."""
    units = sorted({unit for gold in case.golds for unit in subject.workspace.units_at(gold)})
    wanted = np.concatenate([np.arange(context.starts[unit], context.ends[unit]) for unit in units])
    return float(kept[wanted].mean())


class _DevicePass:
    """All layers on the device, which keep their results there."""

    def __init__(self, weights: Weights) -> None:
        from winnow_cuda.gpu.encoder import GpuEncoder

        self._device = open_device()
        self._device.binaries = default_folder()
        self._encoder = GpuEncoder(self._device, weights, np.empty(0, np.int32))

    def seconds(self, batch: Batch) -> float:
        """How long a pass takes, from token ids on the host until the device is done."""
        with self._device.lock:
            self._device.activate()
            self._device.call("cuCtxSynchronize")
            started = time.perf_counter()
            self._encoder.run(batch)
            self._device.call("cuCtxSynchronize")
            return time.perf_counter() - started
