"""Drafts that read the target's hidden states, for each token that the target holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import NOTHING, DraftTree
from winnow_engine.llama.layer_inputs import LayerInputs
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets.drafts.shared.hidden_state_memory import HiddenStateMemory

M = TypeVar("M", bound=HiddenStateMemory)


class HiddenStateDraft(ABC, Generic[M]):
    """A draft that is also a `ContextWatcher`: its memory follows that of each context that the target gets.

    A method says in `_open` what its memory is, and in `_guess` what it makes of it. `_last` is the answer's last
    token.
    """

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
