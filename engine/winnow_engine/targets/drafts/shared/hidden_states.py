"""Drafts that read the target's hidden states, and their memory of these: one row per token that the target holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import NOTHING, DraftTree
from winnow_engine.llama.layer_inputs import LayerInputs
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets.drafts.base import Draft
from winnow_engine.targets.drafts.shared.draft_context import DraftContext

States = Callable[[slice], NDArray[np.float32]]
"""Hidden states of the tokens in a slice of an evaluation's: shape (tokens, layers * width)."""


class HiddenStateMemory:
    """The hidden states of the target's tokens, from the first one known on, in a draft's own context.

    New ones wait until they fill a batch or are needed. The last one always waits, because only the token behind it
    tells how it is evaluated. Guesses may stand behind the hidden states until the next evaluation of these.
    """

    def __init__(self, context: DraftContext) -> None:
        self._context = context
        self._evaluated = 0
        self._waiting: list[tuple[NDArray[np.float32], NDArray[np.int32]]] = []
        self._never = AbortFlag()

    @property
    def length(self) -> int:
        """The position of the next hidden state."""
        return self._evaluated + sum(len(tokens) for _, tokens in self._waiting)

    def add(self, start: int, read: States, tokens: NDArray[np.int32], following: int) -> None:
        """Remember hidden states of `tokens` from `start` on; a gap before forgets all. `following` come behind."""
        if start != self.length:
            self._restart(start)
        self._waiting.append((read(slice(None)), tokens))
        if self.length - self._evaluated > self._context.n_batch:
            self._evaluate(None, self._never)

    def truncate(self, length: int) -> None:
        """Forget all but the target's first `length` tokens; the last one may guess a little worse from then on."""
        if length >= self.length:
            return
        if length < self._evaluated:
            self._context.forget(length)
            self._evaluated, self._waiting = length, []
            return
        states, tokens = self._joined()
        kept = length - self._evaluated
        self._waiting = [(states[:kept], tokens[:kept])] if kept else []

    def close(self) -> None:
        """Free the context."""
        self._context.close()

    def _evaluate(self, following: int | None, abort: AbortFlag) -> bool:
        """Forget guesses and evaluate what waits, the last hidden state only if the token `following` it is known.

        False if aborted. Then, and after TargetError, all is forgotten, and what comes next is the first one known.
        """
        self._context.forget(self._evaluated)
        if not self._waiting:
            return True
        end = self.length
        states, tokens = self._joined()
        self._waiting = [(states[-1:], tokens[-1:])] if following is None else []
        behind = np.append(tokens[1:], np.int32(following)) if following is not None else tokens[1:]
        done = False
        try:
            done = self._evaluate_all(states[: len(behind)], behind, abort)
        finally:
            if not done:
                self._restart(end)
        return done

    def _evaluate_all(self, states: NDArray[np.float32], behind: NDArray[np.int32], abort: AbortFlag) -> bool:
        step = self._context.n_batch
        for start in range(0, len(behind), step):
            batch = np.ascontiguousarray(states[start : start + step])
            rows = self._rows(batch, behind[start : start + step].copy())
            if not self._context.decode(self._evaluated, abort, states=rows):
                return False
            self._evaluated += len(batch)
        return True

    def _rows(self, states: NDArray[np.float32], behind: NDArray[np.int32]) -> NDArray[np.float32]:
        """The rows to evaluate for hidden states, each with the token `behind` it."""
        return states

    def _joined(self) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        states, tokens = zip(*self._waiting, strict=True)
        return np.concatenate(states), np.concatenate(tokens)

    def _restart(self, start: int) -> None:
        self._context.clear()
        self._evaluated, self._waiting = start, []


M = TypeVar("M", bound=HiddenStateMemory)


class HiddenStateDraft(Draft, ABC, Generic[M]):
    """A draft whose memory (`_open`) follows the target's contexts; `_guess` goes on behind `_last`."""

    def __init__(self, model: LlamaModel, target: LlamaModel, layers: Sequence[int]) -> None:
        """Draft with `model`, which `close` closes, by what `layers` of `target` read. Watches `target` from now on."""
        self._model, self._layers, self._width = model, layers, target.width
        self._inputs: LayerInputs | None = None
        self._memory: M | None = None
        self._abort, self._last = AbortFlag(), 0
        target.watcher = self

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Begin an answer to `prompt`, whose evaluation has been watched. It is read for the first proposal."""
        self._abort = abort

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """The best tree of what the model guesses behind the last token."""
        if not limit or self._memory is None or self._abort.is_set():
            return NOTHING
        return self._guess(self._memory, limit, least)

    def accept(self, tokens: Sequence[int]) -> None:
        """Draft behind the last of these tokens."""
        self._last = tokens[-1]

    def opened(self, context: int, n_ctx: int) -> None:
        """Follow a new context of the target."""
        self._inputs = LayerInputs(context, self._layers, self._width)
        self._memory = self._open(context, n_ctx)

    def held(self, start: int, rows: NDArray[np.intp], tokens: NDArray[np.int32], following: int) -> None:
        """Remember the hidden states of tokens that the target holds from now on."""
        inputs = self._inputs
        assert inputs is not None
        assert self._memory is not None
        self._memory.add(start, lambda part: inputs.rows(rows[part]), tokens, following)

    def forgot(self, length: int) -> None:
        """Forget what the target forgot."""
        if self._memory is not None:
            self._memory.truncate(length)

    def closing(self) -> None:
        """Free the memory, which points to the target's context."""
        if self._memory is not None:
            self._memory.close()
        self._inputs = self._memory = None

    def close(self) -> None:
        """Free the memory and the model."""
        self.closing()
        self._model.close()

    @abstractmethod
    def _open(self, context: int, n_ctx: int) -> M:
        """An empty memory for `n_ctx` tokens, beside the target's context. Raises TargetError if there is no room."""

    @abstractmethod
    def _guess(self, memory: M, limit: int, least: float) -> DraftTree:
        """What may follow the last token, in at most `limit` nodes that are each worth `least` or more."""
