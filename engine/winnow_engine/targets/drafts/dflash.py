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

from winnow_engine.config import TargetOptions
from winnow_engine.errors import DraftError
from winnow_engine.llama.layer_inputs import check_layers, wanted_layers
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.tree import NOTHING, DraftTree, grow
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.gguf_header import read_header
from winnow_engine.targets.drafts.block import Block, BlockMemory
from winnow_engine.targets.drafts.model import likeliest
from winnow_engine.targets.drafts.reading import ReadingDraft

ARCHITECTURE = "dflash"
_USUAL_BLOCK = 16  # tokens
_CHOICES = 8  # tokens at each place
_VARIANTS = {"markov_w1.weight": "DSpark", "selector_hidden.weight": "DFlash 2"}


class DFlashDraft(ReadingDraft[BlockMemory]):
    """Drafts a block at once."""

    def __init__(self, model: LlamaModel, target: LlamaModel, block: Block, options: TargetOptions) -> None:
        super().__init__(model, target, block.layers)
        self._block, self._options = block, options

    def _open(self, context: int, n_ctx: int) -> BlockMemory:
        return BlockMemory(self._model, context, n_ctx, self._block, self._options)

    def _guess(self, memory: BlockMemory, limit: int, least: float) -> DraftTree:
        logits = memory.evaluate(self._last, self._abort)
        if logits is None:
            return NOTHING
        places = [likeliest(row, _CHOICES) for row in logits[1:]]
        return grow(0, lambda place: _choices(places, place), limit, least)


def _choices(
    places: Sequence[tuple[NDArray[np.int32], NDArray[np.float32]]], place: int
) -> Iterator[tuple[int, float, int]]:
    if place < len(places):
        for token, probability in zip(*(column.tolist() for column in places[place]), strict=True):
            if probability > 0:
                yield token, probability, place + 1


def open_dflash(model: LlamaModel, target: LlamaModel, path: Path, options: TargetOptions) -> DFlashDraft:
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


def _block(model: LlamaModel, target: LlamaModel, name: str) -> Block:
    vocabulary = Vocabulary(model)
    size = int(model.metadata("dflash.block_size") or _USUAL_BLOCK)
    if size < 2 or vocabulary.mask is None or vocabulary.size != Vocabulary(target).size:
        raise DraftError(
            f"{name} cannot draft for this target: it needs blocks of at least 2 tokens, a mask token and as many "
            f"tokens as the target, not blocks of {size}, the mask {vocabulary.mask} and {vocabulary.size} tokens"
        )
    causal = model.metadata("dflash.attention.causal") == "true"
    return Block(size, vocabulary.mask, tuple(wanted_layers(model)), causal)
