"""Guesses of a draft trained here (`winnow train draft`): a block in one pass, for a target of any architecture.

The row of a token fuses what some of the target's layers read there with the embedding of the token behind it. Rows of
learned vectors follow, which guess the tokens after that. A table of low rank adds what one guess says of the next.
The GGUF holds the draft's layers, those of an ordinary model, and an output matrix for its own vocabulary, the most
frequent tokens; a `.safetensors` beside it holds the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.device import DeviceError, availability, open_device
from winnow_engine.config import TargetOptions
from winnow_engine.core import Prompt
from winnow_engine.errors import DraftError, ModelError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import evaluates_on_gpu
from winnow_engine.llama.draft_tree import NOTHING, DraftTree, grow
from winnow_engine.llama.layer_inputs import LayerInputs, check_layers
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.stored_rows import StoredRows
from winnow_engine.models.gguf_header import read_header
from winnow_engine.targets.drafts.base import Draft
from winnow_engine.targets.drafts.block_file import LAYERS, is_draft
from winnow_engine.targets.drafts.block_memory import BlockMemory

if TYPE_CHECKING:
    from winnow_cuda.gpu.products import HeldMatrix
    from winnow_engine.targets.drafts.block_tables import BlockTables, RowMaker

_CHOICES = 6  # tokens at each place


class BlockDraft(Draft):
    """Drafts a whole block at once. Its memory follows the target's contexts."""

    def __init__(
        self, model: LlamaModel, target: LlamaModel, tables: BlockTables, maker: RowMaker, options: TargetOptions
    ) -> None:
        """Draft with `model`, which `close` closes. Watches `target` from now on."""
        self._model, self._layers, self._width = model, layers_of(model), target.width
        self._tables, self._maker, self._options = tables, maker, options
        self._own = {int(token): own for own, token in enumerate(tables.tokens)}
        self._inputs: LayerInputs | None = None
        self._memory: BlockMemory | None = None
        self._abort, self._last = AbortFlag(), 0
        target.watcher = self

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Begin an answer to `prompt`, whose evaluation has been watched. It is read for the first proposal."""
        self._abort = abort

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """The best tree of what the model guesses behind the last token."""
        if not limit or self._memory is None or self._abort.is_set():
            return NOTHING
        logits = self._memory.evaluate(self._last, min(limit, self._memory.most), self._abort)
        return NOTHING if logits is None else self._tree(logits, limit, least)

    def accept(self, tokens: Sequence[int]) -> None:
        """Draft behind the last of these tokens."""
        self._last = tokens[-1]

    def opened(self, context: int, n_ctx: int) -> None:
        """Follow a new context of the target. Raises TargetError if there is no room."""
        self._inputs = LayerInputs(context, self._layers, self._width)
        self._memory = BlockMemory(self._model, n_ctx, self._tables, self._maker, self._options)

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
        """Free the memory: the target's context is about to go."""
        if self._memory is not None:
            self._memory.close()
        self._inputs = self._memory = None

    def close(self) -> None:
        """Free the memory and the model."""
        self.closing()
        self._model.close()

    def _tree(self, logits: NDArray[np.float32], limit: int, least: float) -> DraftTree:
        previous = self._own.get(self._last, len(self._own))
        own, chances = self._tables.choices(logits, previous, _CHOICES, least)
        tokens, likely = self._tables.tokens[own].tolist(), chances.tolist()

        def choices(state: tuple[int, int]) -> Iterator[tuple[int, float, tuple[int, int]]]:
            place, behind = state
            if place < len(tokens):
                for number, (token, chance) in enumerate(zip(tokens[place], likely[place][behind], strict=True)):
                    if chance > 0:
                        yield token, chance, (place + 1, number)

        return grow((0, 0), choices, limit, least)


def open_block(path: Path, target: LlamaModel, options: TargetOptions) -> BlockDraft:
    """Open a draft trained here. ModelError: DraftError if it is none, damaged, or was trained for another target."""
    model = LlamaModel(path, n_gpu_layers=options.gpu_layers)
    try:
        if not is_draft(model):
            raise DraftError(f"{path.name} is no draft: `winnow train draft` makes them")
        return BlockDraft(model, target, *_tables(path, model, target, options), options)
    except ModelError:
        model.close()
        raise


def layers_of(draft: LlamaModel) -> list[int]:
    """The target's layers that a draft reads."""
    return [int(layer) for layer in (draft.metadata(LAYERS) or "").split(",") if layer.isdecimal()]


def _tables(path: Path, model: LlamaModel, target: LlamaModel, options: TargetOptions) -> tuple[BlockTables, RowMaker]:
    # Here, since Numba comes with it.
    from winnow_engine.targets.drafts.block_tables import BlockTables, RowMaker

    layers = layers_of(model)
    check_layers(target, layers, path.name)
    embedding = StoredRows(target.path, "token_embd.weight")
    tables = BlockTables.load(path.with_suffix(".safetensors"))
    own = read_header(path).tensors["token_embd.weight"].shape[0]
    if model.width != target.width or not tables.fit(model.width, len(layers), own, len(embedding)):
        raise DraftError(
            f"{path.name} cannot draft for this target: it was trained for one of another size, or the .safetensors "
            "beside it is another draft's"
        )
    maker = RowMaker(tables, embedding, options.threads, _on_device(tables, options))
    # Compiled here, or read from Numba's cache, and not while an answer waits.
    maker.warm_up()
    tables.choices(np.zeros((1, own), np.float32), 0, _CHOICES, 0.0)
    return tables, maker


def _on_device(tables: BlockTables, options: TargetOptions) -> HeldMatrix | None:
    """The matrix that fuses, on the GPU if that evaluates the draft and our own kernels run there."""
    if not evaluates_on_gpu(options) or tables.fuse.shape[1] % 256 or not availability().usable:
        return None
    from winnow_cuda.gpu.products import HeldMatrix

    try:
        return HeldMatrix(open_device(), tables.fuse)
    except DeviceError:
        return None
