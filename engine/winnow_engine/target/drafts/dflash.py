"""Guesses of a DFlash model (arXiv 2602.06036): a block of masked tokens filled in at once, in one evaluation.

The model has no memory of its own making. What some of the target's layers read, for each token that the target
holds, is projected into its keys and values; the block attends to these and, both ways, to itself. Each place of the
block gets its own distribution, and the tree is the best one by their product (DDTree).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winnow_engine.errors import DraftError
from winnow_engine.llama.model import Model
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.gguf_header import read_header
from winnow_engine.target.abort import AbortFlag
from winnow_engine.target.base import Prompt
from winnow_engine.target.drafts.block import Block, BlockMemory
from winnow_engine.target.drafts.model import likeliest
from winnow_engine.target.features import LayerInputs, check_layers, wanted_layers
from winnow_engine.target.options import TargetOptions
from winnow_engine.target.tree import NOTHING, Tree, grow

ARCHITECTURE = "dflash"
_USUAL_BLOCK = 16  # tokens
_CHOICES = 8  # tokens at each place
_VARIANTS = {"markov_w1.weight": "DSpark", "selector_hidden.weight": "DFlash 2"}


class DFlashDraft:
    """Drafts a block from what the target's layers read; a `Watcher` of the target's contexts."""

    def __init__(self, model: Model, target: Model, block: Block, options: TargetOptions) -> None:
        """Draft with `model`, which this closes, for `target`, whose contexts this watches from now on."""
        self._model, self._block, self._options = model, block, options
        self._width = target.width
        self._inputs: LayerInputs | None = None
        self._memory: BlockMemory | None = None
        self._abort, self._last = AbortFlag(), 0
        target.watcher = self

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Nothing to read: the target's memory of `prompt` has been watched."""
        self._abort = abort

    def propose(self, limit: int, least: float = 0.0) -> Tree:
        """The best tree of what the block's places hold."""
        if not limit or self._memory is None:
            return NOTHING
        logits = self._memory.evaluate(self._last, self._abort)
        if logits is None:
            return NOTHING
        places = [likeliest(row, _CHOICES) for row in logits[1:]]
        return grow(0, lambda place: _choices(places, place), limit, least)

    def accept(self, tokens: Sequence[int]) -> None:
        """The last of these tokens begins the next block."""
        self._last = tokens[-1]

    def opened(self, context: int, n_ctx: int) -> None:
        """Read along in a new context of the target."""
        self._inputs = LayerInputs(context, self._block.layers, self._width)
        self._memory = BlockMemory(self._model, context, n_ctx, self._block, self._options)

    def held(self, start: int, rows: NDArray[np.intp]) -> None:
        """Remember what the layers read of tokens that the target holds from now on."""
        assert self._inputs is not None
        assert self._memory is not None
        self._memory.add(start, self._inputs.rows(rows))

    def forgot(self, length: int) -> None:
        """Forget them with the target."""
        if self._memory is not None:
            self._memory.truncate(length)

    def closing(self) -> None:
        """Free the memory, which points to the target's context."""
        if self._memory is not None:
            self._memory.close()
        self._inputs = self._memory = None

    def close(self) -> None:
        """Free the model."""
        self.closing()
        self._model.close()


def _choices(
    places: Sequence[tuple[NDArray[np.int32], NDArray[np.float32]]], place: int
) -> Iterator[tuple[int, float, int]]:
    if place < len(places):
        for token, probability in zip(*(column.tolist() for column in places[place]), strict=True):
            if probability > 0:
                yield token, probability, place + 1


def open_dflash(model: Model, target: Model, path: Path, options: TargetOptions) -> DFlashDraft:
    """The DFlash `model` at `path` as a draft for `target`; their vocabularies agree. Raises DraftError if it does not
    fit, or is of a later kind than this runs.
    """
    _check_kind(path)
    if model.width != target.width:
        raise DraftError(
            f"{path.name} cannot draft for this target: it reads hidden states of {model.width} elements, "
            f"the target's have {target.width}"
        )
    block = _block(model, target, path.name)
    check_layers(target, block.layers, path.name)
    return DFlashDraft(model, target, block, options)


def _check_kind(path: Path) -> None:
    tensors = read_header(path).tensors
    kind = next((kind for tensor, kind in _VARIANTS.items() if tensor in tensors), None)
    if kind is not None:
        raise DraftError(f"{path.name} is a {kind} model: only plain DFlash models can draft")


def _block(model: Model, target: Model, name: str) -> Block:
    vocabulary = Vocabulary(model)
    size = int(model.metadata("dflash.block_size") or _USUAL_BLOCK)
    if size < 2 or vocabulary.mask is None or vocabulary.size != Vocabulary(target).size:
        raise DraftError(
            f"{name} cannot draft for this target: it needs blocks of at least 2 tokens, a mask token and as many "
            f"tokens as the target, not blocks of {size}, the mask {vocabulary.mask} and {vocabulary.size} tokens"
        )
    causal = model.metadata("dflash.attention.causal") == "true"
    return Block(size, vocabulary.mask, tuple(wanted_layers(model)), causal)
