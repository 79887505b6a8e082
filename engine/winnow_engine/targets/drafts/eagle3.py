"""Guesses of an EAGLE-3 model (arXiv 2503.01840): one layer that goes on from the target's hidden states.

The hidden states of a token that three of the target's layers read are fused into one, which is evaluated together
with the token that follows. The result is the hidden state of the next guess: a chain of likeliest tokens, with
runners-up beside it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.errors import DraftError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.layer_inputs import OutputStates, check_layers, wanted_layers
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.tree import NOTHING, DraftTree
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.gguf_header import read_header
from winnow_engine.targets.drafts.base import MOST_NODES, DraftFile, FileMethod
from winnow_engine.targets.drafts.shared.draft_context import DraftContext
from winnow_engine.targets.drafts.shared.guesses import best_tree, guess_chain
from winnow_engine.targets.drafts.shared.hidden_state_draft import HiddenStateDraft
from winnow_engine.targets.drafts.shared.hidden_state_memory import HiddenStateMemory

_BATCH = 64  # hidden states: llama.cpp keeps room for the logits of all that are fused at once
_LENT = ("token_embd.weight", "output.weight")


class ChainMemory(HiddenStateMemory):
    """Keys and values of each fused hidden state with the token behind it, and of a chain of guesses behind them."""

    def __init__(self, model: LlamaModel, target: int, n_ctx: int, options: TargetOptions) -> None:
        """Make a `DraftContext` for `n_ctx` hidden states and a chain behind them."""
        small = replace(options, n_ubatch=min(options.n_ubatch, _BATCH))
        super().__init__(DraftContext(model, target, n_ctx + MOST_NODES, small.n_ubatch, small))
        self._outputs = OutputStates(self._context.handle, model.width)
        self._chain_end = 0

    def begin(self, token: int, abort: AbortFlag) -> NDArray[np.float32] | None:
        """The logits behind all hidden states and `token`, shape (vocabulary,).

        None if aborted, or if no hidden state was waiting.
        """
        if not self._waiting or not self._evaluate(None, abort) or not self._evaluate(token, abort):
            return None
        self._chain_end = self._evaluated
        return self._context.logits(1).reshape(-1)

    def go_on(self, token: int, abort: AbortFlag) -> NDArray[np.float32] | None:
        """The logits behind one more guess, shape (vocabulary,). None if aborted."""
        state = self._outputs.rows(1)
        tokens = np.array([token], np.int32)
        if not self._context.decode(self._chain_end, abort, tokens=tokens, states=state, logits=True):
            return None
        self._chain_end += 1
        return self._context.logits(1).reshape(-1)

    def _evaluate_batch(
        self, start: int, states: NDArray[np.float32], behind: NDArray[np.int32], abort: AbortFlag
    ) -> bool:
        if not self._context.encode(start, states, abort):
            return False
        fused = self._outputs.rows(len(states))
        # The graph gives logits from a batch's first token on, whichever were asked for: `begin` has one batch of one.
        return self._context.decode(start, abort, tokens=behind, states=fused, logits=len(states) == 1)


class Eagle3Draft(HiddenStateDraft[ChainMemory]):
    """Drafts token by token."""

    def __init__(self, model: LlamaModel, target: LlamaModel, layers: list[int], options: TargetOptions) -> None:
        super().__init__(model, target, layers)
        self._options = options

    def _open(self, context: int, n_ctx: int) -> ChainMemory:
        return ChainMemory(self._model, context, n_ctx, self._options)

    def _guess(self, memory: ChainMemory, limit: int, least: float) -> DraftTree:
        first = memory.begin(self._last, self._abort)
        if first is None:
            return NOTHING
        return best_tree(guess_chain(first, partial(memory.go_on, abort=self._abort), limit, least), limit)


def open_eagle3(file: DraftFile) -> Eagle3Draft:
    """Open an EAGLE-3 draft. Raises DraftError if it does not fit the target."""
    model, target = file.model, file.target
    tensors = read_header(file.path).tensors
    read = int(model.metadata("eagle3.target_hidden_size") or 0)
    lent = any(name not in tensors for name in _LENT)
    if read != target.width or (lent and model.width != target.width):
        raise DraftError(
            f"{file.name} cannot draft for this target: it reads hidden states of {read} elements and has "
            f"{model.width} of its own, the target's have {target.width}"
        )
    if model.layers != 1 or Vocabulary(model).size != Vocabulary(target).size:
        raise DraftError(
            f"{file.name} cannot draft for this target: it needs one layer and as many tokens as the target, "
            f"not {model.layers} layers and {Vocabulary(model).size} tokens"
        )
    layers = wanted_layers(model)
    check_layers(target, layers, file.name)
    return Eagle3Draft(model, target, layers, file.options)


METHOD = FileMethod("eagle3", open_eagle3)
