"""Guesses of a DFlash model (arXiv 2602.06036): a block of masked tokens filled in at once, in one evaluation.

The model has no memory of its own making. For each token that the target holds, the hidden states that some of the
target's layers read are projected into its keys and values. The block attends to these and, in both directions, to
itself. Each place of the block gets its own distribution; the tree is the best one by their product (DDTree).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.errors import DraftError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import NOTHING, DraftTree, grow, likeliest
from winnow_engine.llama.layer_inputs import check_layers, wanted_layers
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.gguf_header import read_header
from winnow_engine.targets.drafts.base import DraftFile, FileMethod
from winnow_engine.targets.drafts.shared.draft_context import DraftContext
from winnow_engine.targets.drafts.shared.hidden_states import HiddenStateDraft, HiddenStateMemory

_USUAL_BLOCK = 16  # tokens
_CHOICES = 8  # tokens at each place
_VARIANTS = {"markov_w1.weight": "DSpark", "selector_hidden.weight": "DFlash 2"}

Places: TypeAlias = Sequence[tuple[NDArray[np.int32], NDArray[np.float32]]]
"""The likeliest tokens at each place of a block and their probabilities."""


class DFlashMemory(HiddenStateMemory):
    """Keys and values projected from hidden states. The token behind a hidden state does not matter."""

    def __init__(
        self, model: LlamaModel, target: int, n_ctx: int, block: NDArray[np.int32], options: TargetOptions
    ) -> None:
        """Make a `DraftContext` for `n_ctx` hidden states and the tokens of a masked `block` behind them."""
        size = len(block)
        whole = replace(options, n_ubatch=max(options.n_ubatch, size))
        super().__init__(DraftContext(model, target, n_ctx + size, size, whole))
        causal = model.metadata("dflash.attention.causal") == "true"  # or the tokens of a block see later ones, too
        llama_cpp.llama_set_causal_attn(self._context.handle, causal)
        self._block = block

    def evaluate(self, token: int, abort: AbortFlag) -> NDArray[np.float32] | None:
        """Logits [block, vocabulary] behind `token`, valid until the next call; None if aborted."""
        if not self._evaluate(token, abort):
            return None
        tokens = self._block.copy()
        tokens[0] = token
        done = self._context.decode(self._evaluated, abort, tokens=tokens, last=len(tokens))
        return self._context.logits(len(tokens)) if done else None


class DFlashDraft(HiddenStateDraft[DFlashMemory]):
    """Drafts a whole block at once."""

    def __init__(self, file: DraftFile, layers: Sequence[int], block: NDArray[np.int32]) -> None:
        super().__init__(file.model, file.target, layers)
        self._block, self._options = block, file.options

    def _open(self, context: int, n_ctx: int) -> DFlashMemory:
        return DFlashMemory(self._model, context, n_ctx, self._block, self._options)

    def _guess(self, memory: DFlashMemory, limit: int, least: float) -> DraftTree:
        logits = memory.evaluate(self._last, self._abort)
        if logits is None:
            return NOTHING
        places = [likeliest(row, _CHOICES) for row in logits[1:]]
        return grow(0, lambda place: _choices(places, place), limit, least)


def _choices(places: Places, place: int) -> Iterator[tuple[int, float, int]]:
    if place < len(places):
        for token, probability in zip(*(column.tolist() for column in places[place]), strict=True):
            if probability > 0:
                yield token, probability, place + 1


def open_dflash(file: DraftFile) -> DFlashDraft:
    """Open a DFlash draft. Raises DraftError if it does not fit the target, or is of a later kind than this runs."""
    tensors = read_header(file.path).tensors
    kind = next((kind for tensor, kind in _VARIANTS.items() if tensor in tensors), None)
    if kind is not None:
        raise DraftError(f"{file.name} is a {kind} model: only plain DFlash models can draft")
    if file.model.width != file.target.width:
        raise DraftError(
            f"{file.name} cannot draft for this target: it reads hidden states of {file.model.width} elements, "
            f"the target's have {file.target.width}"
        )
    block, layers = _block(file), wanted_layers(file.model)
    check_layers(file.target, layers, file.name)
    return DFlashDraft(file, layers, block)


def _block(file: DraftFile) -> NDArray[np.int32]:
    """Masks, as many as the tokens of a block. Raises DraftError."""
    vocabulary = Vocabulary(file.model)
    size = int(file.model.metadata("dflash.block_size") or _USUAL_BLOCK)
    if size < 2 or vocabulary.mask is None or vocabulary.size != Vocabulary(file.target).size:
        raise DraftError(
            f"{file.name} cannot draft for this target: it needs blocks of at least 2 tokens, a mask token and as many "
            f"tokens as the target, not blocks of {size}, the mask {vocabulary.mask} and {vocabulary.size} tokens"
        )
    return np.full(size, vocabulary.mask, np.int32)


METHOD = FileMethod("dflash", open_dflash)
