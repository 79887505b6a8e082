"""Guesses of a draft trained here (`winnow train draft`): a block in one pass, for a target of any architecture.

The row of a token fuses what some of the target's layers read there with the embedding of the token behind it. Rows of
learned vectors follow, which guess the tokens after that. A table of low rank adds what one guess says of the next.
The GGUF holds the draft's layers, those of an ordinary model, and an output matrix for its own vocabulary, the most
frequent tokens; a `.safetensors` beside it holds the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.device import DeviceError, availability, open_device
from winnow_engine.config import TargetOptions
from winnow_engine.errors import DraftError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import evaluates_on_gpu, pass_sizes
from winnow_engine.llama.draft_tree import NOTHING, DraftTree, grow
from winnow_engine.llama.layer_inputs import check_layers
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.stored_rows import StoredRows
from winnow_engine.models.gguf_header import read_header
from winnow_engine.targets.drafts.base import DraftFile, FileMethod
from winnow_engine.targets.drafts.shared.block_file import LAYERS, NAME
from winnow_engine.targets.drafts.shared.draft_context import DraftContext
from winnow_engine.targets.drafts.shared.hidden_states import HiddenStateDraft, HiddenStateMemory, States

if TYPE_CHECKING:
    from winnow_cuda.gpu.products import HeldMatrix
    from winnow_engine.targets.drafts.shared.block_tables import BlockTables, RowMaker

_CHOICES = 6  # tokens at each place
WINDOW = 256
"""Tokens before an answer that are read."""
FIRST = 16
"""And tokens of the prompt's beginning, which any attention looks at where it looks at nothing else."""
# Rows of a pass. The product for few tokens (few_tokens.h) has no more: with AVX2 17 rows take twice as long as 16.
_MOST_ROWS = 16


class BlockMemory(HiddenStateMemory):
    """A draft's keys and values: a row for each token of the target whose next one is known.

    Rows are evaluated when a guess is wanted: the last `WINDOW` behind the text's first `FIRST`, without which an
    explanation has 2.0 tokens a pass instead of 2.3, as with all rows (1.5B).
    """

    def __init__(
        self, model: LlamaModel, target: int, n_ctx: int, tables: BlockTables, maker: RowMaker, options: TargetOptions
    ) -> None:
        """Make a `DraftContext` for `n_ctx` rows and a block behind them."""
        super().__init__(DraftContext(model, target, n_ctx + tables.block, tables.block, options))
        self._tables, self._maker = tables, maker
        self._sizes = pass_sizes(model, options)  # or a draft's first proposals take 4 ms instead of 1
        self._first: tuple[NDArray[np.float32], NDArray[np.int32]] | None = None
        self._begins, self._empty = 0, True

    @property
    def most(self) -> int:
        """The most guesses of one pass: a block, with a row before it, is evaluated in one batch."""
        return min(self._tables.block, self._context.n_batch)

    def add(self, start: int, read: States, tokens: NDArray[np.int32], following: int) -> None:
        """Remember hidden states as any memory does, but only those of the window, and evaluate none."""
        if start == 0 and len(tokens) > FIRST:
            self._first = read(slice(FIRST)), tokens[: FIRST + 1].copy()
        window = slice(max(0, len(tokens) - max(0, WINDOW - following)), None)
        if window.start == len(tokens):
            return
        start += window.start
        if start != self.length:
            self._restart(start)
        self._waiting.append((read(window), tokens[window]))
        if self.length - self._evaluated > 2 * WINDOW:
            self._keep_window()

    def truncate(self, length: int) -> None:
        """Forget all but the target's first `length` tokens, as any memory does."""
        if length <= FIRST:
            self._first = None
        if length < min(self._begins, self._evaluated):
            self._restart(length)
        else:
            super().truncate(length)

    def _restart(self, start: int) -> None:
        super()._restart(start)
        self._context.shift = self._begins = start
        self._empty = True

    def _keep_window(self) -> None:
        end = self.length
        states, tokens = self._joined()
        self._restart(end - WINDOW)
        self._waiting = [(states[-WINDOW:].copy(), tokens[-WINDOW:].copy())]

    def _ready(self, abort: AbortFlag) -> bool:
        """Have what waits be a window at most, and evaluate what stands before it; False if aborted."""
        if self.length - self._evaluated > WINDOW:
            self._keep_window()
        if not self._empty or not self._waiting:
            return True
        if self._first is not None and self._begins >= FIRST:
            states, tokens = self._first
            for at in range(0, FIRST, self._context.n_batch):
                part = slice(at, min(at + self._context.n_batch, FIRST))
                self._context.shift = 0
                rows = self._maker.rows(states[part], tokens[1:][part])
                if not self._context.decode(at, abort, states=rows):
                    self._restart(self.length)
                    return False
            self._context.shift = self._begins - FIRST
        self._empty = False
        return True

    def evaluate(self, token: int, places: int, abort: AbortFlag) -> NDArray[np.float32] | None:
        """Logits [places, vocabulary] behind `token`, valid until the next call; None if aborted or nothing waited."""
        most = min(_MOST_ROWS, self._context.n_batch)
        if not self._ready(abort):
            return None
        if self.length - self._evaluated > 1 + most // 2 and not self._evaluate(None, abort):
            return None
        if not self._waiting:
            return None
        self._context.forget(self._evaluated)
        end = self.length
        states, tokens = self._joined()
        places = min(places, most + 1 - len(states))
        self._waiting = []
        rows = self._maker.rows(states, np.append(tokens[1:], np.int32(token)))
        needed = len(states) + places - 1
        size = next((size for size in self._sizes if needed <= size <= min(most, self._tables.block)), needed)
        last = size if self._sizes else places  # rows with logits, of which a graph has a fixed number, too
        rows = np.concatenate([rows, self._tables.masks[: size - len(states)]])
        done = False
        try:
            done = self._context.decode(self._evaluated, abort, states=rows, last=last)
        finally:
            if not done:
                self._restart(end)
        if not done:
            return None
        self._evaluated += len(states)
        return self._context.logits(last)[len(states) - 1 - (size - last) :][:places]

    def _rows(self, states: NDArray[np.float32], behind: NDArray[np.int32]) -> NDArray[np.float32]:
        return self._maker.rows(states, behind)


class BlockDraft(HiddenStateDraft[BlockMemory]):
    """Drafts a whole block at once."""

    def __init__(self, file: DraftFile, layers: list[int], tables: BlockTables, maker: RowMaker) -> None:
        super().__init__(file.model, file.target, layers)
        self._tables, self._maker, self._options = tables, maker, file.options
        self._own = {int(token): own for own, token in enumerate(tables.tokens)}

    def _open(self, context: int, n_ctx: int) -> BlockMemory:
        return BlockMemory(self._model, context, n_ctx, self._tables, self._maker, self._options)

    def _guess(self, memory: BlockMemory, limit: int, least: float) -> DraftTree:
        logits = memory.evaluate(self._last, min(limit, memory.most), self._abort)
        if logits is None:
            return NOTHING
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


def open_block(file: DraftFile) -> BlockDraft:
    """Open a draft trained here. Raises DraftError if it is damaged, or was trained for another target."""
    # Here, since Numba comes with it.
    from winnow_engine.targets.drafts.shared.block_tables import BlockTables, RowMaker

    layers = [int(layer) for layer in (file.model.metadata(LAYERS) or "").split(",") if layer.isdecimal()]
    check_layers(file.target, layers, file.name)
    embedding = StoredRows(file.target.path, "token_embd.weight")
    tables = BlockTables.load(file.path.with_suffix(".safetensors"))
    own = read_header(file.path).tensors["token_embd.weight"].shape[0]
    if file.model.width != file.target.width or not tables.fit(file.model.width, len(layers), own, len(embedding)):
        raise DraftError(
            f"{file.name} cannot draft for this target: it was trained for one of another size, or the .safetensors "
            "beside it is another draft's"
        )
    maker = RowMaker(tables, embedding, file.options.threads, _on_device(tables, file.options))
    # Compiled here, or read from Numba's cache, and not while an answer waits.
    maker.warm_up()
    tables.choices(np.zeros((1, own), np.float32), 0, _CHOICES, 0.0)
    return BlockDraft(file, layers, tables, maker)


def _on_device(tables: BlockTables, options: TargetOptions) -> HeldMatrix | None:
    """The matrix that fuses, on the GPU if that evaluates the draft and our own kernels run there."""
    if not evaluates_on_gpu(options) or tables.fuse.shape[1] % 256 or not availability().usable:
        return None
    from winnow_cuda.gpu.products import HeldMatrix

    try:
        return HeldMatrix(open_device(), tables.fuse)
    except DeviceError:
        return None


METHOD = FileMethod(NAME, open_block, own_vocabulary=True)
