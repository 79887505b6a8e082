"""Input and output tables of a block draft: from tokens to rows, and from logits to guesses."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from winnow_cuda.ops._integers import packed, runs_here
from winnow_cuda.ops.drafting import block_choices
from winnow_cuda.ops.elementwise import rms_norm
from winnow_cuda.ops.int8_products import int8_gemm
from winnow_cuda.shapes import Float32, Int32, PackedMatrix
from winnow_engine.errors import DraftError
from winnow_engine.llama.stored_rows import StoredRows

if TYPE_CHECKING:
    from winnow_cuda.gpu.products import HeldMatrix

_EPS = 1e-6
_FEW_ROWS, _FEW_THREADS = 16, 4  # of a product, which others would take longer to join


@dataclass(frozen=True, slots=True)
class BlockTables:
    """What the file beside the draft's GGUF holds, by its names there."""

    tokens: Int32
    """[vocabulary]: the target's token of each of the draft's."""
    fuse: NDArray[np.float16]
    """[width, layers read * width]: multiplies the hidden states, each normed."""
    embedding: Float32
    """[width]: multiplies the embedding, normed."""
    masks: Float32
    """[block - 1, width]: the rows behind the last token."""
    before: Float32
    """[vocabulary + 1, rank]: by the guess before, the last row for tokens that the draft lacks."""
    after: Float32
    """[vocabulary, rank]: the product with `before` is added to the logits."""

    @classmethod
    def load(cls, path: Path) -> BlockTables:
        """Read the file at `path`. Raises DraftError if it is missing or damaged."""
        try:
            stored = load_file(path)
            tokens = stored["tokens"].astype(np.int32)
            rest = [stored[field.name].astype(np.float32) for field in fields(cls)[2:]]
            return cls(tokens, stored["fuse"], *rest)
        except (OSError, SafetensorError, KeyError) as error:
            raise DraftError(
                f"{path} is missing or damaged ({error}): it belongs beside its draft's GGUF, as `winnow train draft` "
                "wrote it"
            ) from error

    def fit(self, width: int, layers: int, vocabulary: int, target: int) -> bool:
        """Whether they belong to a draft of this width and vocabulary, and to a target of so many tokens."""
        rank = self.before.shape[-1]
        shapes = (vocabulary,), (width, layers * width), (width,), (len(self.masks), width)
        wanted = *shapes, (vocabulary + 1, rank), (vocabulary, rank)
        found = tuple(getattr(self, field.name).shape for field in fields(self))
        return found == wanted and self.tokens.min() >= 0 and self.tokens.max() < target

    @property
    def block(self) -> int:
        """The most guesses of one pass."""
        return len(self.masks) + 1

    def choices(self, logits: Float32, previous: int, count: int, least: float) -> tuple[Int32, Float32]:
        """As `block_choices`, behind the draft's token `previous`."""
        return block_choices(logits, self.before, self.after, previous, count, least)


class RowMaker:
    """Makes the draft's rows, with AVX2 by integers: BLAS waits up to 80 ms beside other work for 1 ms of it."""

    def __init__(self, tables: BlockTables, embedding: StoredRows, threads: int, on_device: HeldMatrix | None) -> None:
        """`embedding` is the target's; `on_device` may hold `tables.fuse`."""
        self._on_device, self._columns = on_device, tables.fuse.shape[1]
        fuse = tables.fuse.astype(np.float32)
        self._fuse: Float32 | PackedMatrix = packed(fuse) if runs_here() else fuse
        if isinstance(self._fuse, PackedMatrix):  # read-only, as the drafter's: for that the product is compiled
            self._fuse.codes.flags.writeable = self._fuse.scales.flags.writeable = False
        self._norm, self._embedding, self._threads = tables.embedding, embedding, threads
        self._ones = np.ones_like(tables.embedding)

    def rows(self, states: Float32, behind: Int32) -> Float32:
        """The rows of tokens: hidden states (tokens, layers * width), and the tokens behind them."""
        embedded = self._embedding.rows(behind)
        parts = rms_norm(states.reshape(-1, embedded.shape[1]), self._ones, _EPS).reshape(states.shape)
        fused = self._on_device.product(parts) if self._on_device is not None else None
        if fused is None:
            fused = self._product(parts)
        fused += rms_norm(embedded, self._norm, _EPS)
        return fused

    def warm_up(self) -> None:
        """Call all that `rows` may call, on the device and beside it."""
        states = np.zeros((1, self._columns), np.float32)
        self._product(states)
        self.rows(states, np.zeros(1, np.int32))

    def _product(self, parts: Float32) -> Float32:
        fuse = self._fuse
        if not isinstance(fuse, PackedMatrix):
            return parts @ fuse.T
        return int8_gemm(parts, fuse, self._threads if len(parts) > _FEW_ROWS else min(self._threads, _FEW_THREADS))
