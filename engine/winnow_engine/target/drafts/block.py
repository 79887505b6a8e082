"""The memory of a block-diffusion draft: keys and values made of the target's hidden states, and blocks behind them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.errors import TargetError
from winnow_engine.llama.log import last_errors
from winnow_engine.llama.model import Model
from winnow_engine.target.abort import AbortFlag
from winnow_engine.target.context import context_params
from winnow_engine.target.options import TargetOptions

_ABORTED = 2
_MROPE_AXES = 4


@dataclass(frozen=True, slots=True)
class Block:
    """What a DFlash model says of itself: the tokens of a block, its mask, and the target's layers it reads.

    Tokens of a `causal` block attend to earlier ones only.
    """

    size: int
    mask: int
    layers: tuple[int, ...]
    causal: bool


class BlockMemory:
    """One row a token of the target's memory, from the first one known on. Rows wait until a block needs them."""

    def __init__(self, model: Model, target: int, n_ctx: int, block: Block, options: TargetOptions) -> None:
        """Make room for `n_ctx` rows, beside `target`, whose embeddings the model may share.

        Raise TargetError if there is no memory for them.
        """
        self._block = block
        self._n_vocab = int(llama_cpp.llama_vocab_n_tokens(model.vocabulary))
        self._n_batch = max(options.n_ubatch, block.size)
        mrope = llama_cpp.llama_model_rope_type(model.handle) == llama_cpp.LLAMA_ROPE_TYPE_MROPE
        self._axes = _MROPE_AXES if mrope else 1
        params = context_params(n_ctx + block.size, replace(options, kv_type="f16", n_ubatch=self._n_batch), 1)
        params.n_outputs_max, params.ctx_other = block.size, target
        self._handle = llama_cpp.llama_init_from_model(model.handle, params)
        if not self._handle:
            raise TargetError(f"cannot make a context of {n_ctx} tokens for the draft: {last_errors()}")
        llama_cpp.llama_set_causal_attn(self._handle, block.causal)
        self._memory = llama_cpp.llama_get_memory(self._handle)
        self._never = AbortFlag()
        self._evaluated = 0
        self._waiting: list[NDArray[np.float32]] = []

    @property
    def length(self) -> int:
        """Where the next row belongs."""
        return self._evaluated + sum(map(len, self._waiting))

    def add(self, start: int, features: NDArray[np.float32], tokens: NDArray[np.int32]) -> None:
        """Remember features, whatever the tokens are. A gap before `start` forgets the rest."""
        if start != self.length:
            self._restart(start)
        self._waiting.append(features)
        if self.length - self._evaluated >= self._n_batch:
            self._project(self._never)

    def truncate(self, length: int) -> None:
        """Forget all rows but those of the target's first `length` tokens."""
        if length >= self.length:
            return
        if length < self._evaluated:
            llama_cpp.llama_memory_seq_rm(self._memory, 0, length, -1)
            self._evaluated, self._waiting = length, []
            return
        rows = np.concatenate(self._waiting)[: length - self._evaluated]
        self._waiting = [rows] if len(rows) else []

    def evaluate(self, token: int, abort: AbortFlag) -> NDArray[np.float32] | None:
        """The logits of a block that begins with `token`, behind all rows: shape (block, vocabulary).

        They are valid until the next evaluation. None if aborted.
        """
        if abort.is_set() or not self._project(abort):
            return None
        tokens = np.full(self._block.size, self._block.mask, np.int32)
        tokens[0] = token
        done = self._decode(self._evaluated, abort, tokens=tokens)
        llama_cpp.llama_memory_seq_rm(self._memory, 0, self._evaluated, -1)
        if not done:
            return None
        return np.ctypeslib.as_array(llama_cpp.llama_get_logits(self._handle), (len(tokens), self._n_vocab))

    def close(self) -> None:
        """Free the context."""
        llama_cpp.llama_free(self._handle)

    def _project(self, abort: AbortFlag) -> bool:
        """Turn the rows that wait into keys and values; False if aborted, and then all is forgotten."""
        if not self._waiting:
            return True
        waiting, self._waiting = np.concatenate(self._waiting), []
        for start in range(0, len(waiting), self._n_batch):
            rows = np.ascontiguousarray(waiting[start : start + self._n_batch])
            if not self._decode(self._evaluated, abort, features=rows):
                self._restart(self._evaluated + len(waiting) - start)
                return False
            self._evaluated += len(rows)
        return True

    def _restart(self, start: int) -> None:
        llama_cpp.llama_memory_clear(self._memory, False)
        self._evaluated, self._waiting = start, []

    def _decode(
        self,
        start: int,
        abort: AbortFlag,
        *,
        tokens: NDArray[np.int32] | None = None,
        features: NDArray[np.float32] | None = None,
    ) -> bool:
        """Evaluate tokens, with all logits, or project features; False if aborted."""
        rows = tokens if features is None else features
        assert rows is not None
        count = len(rows)
        positions = np.tile(np.arange(start, start + count, dtype=np.int32), (1 if features is None else self._axes, 1))
        positions[3:] = 0  # the axis that text does not use
        outputs = np.full(count, features is None, np.int8)
        batch = llama_cpp.llama_batch(n_tokens=count, pos=_pointer(positions, ctypes.c_int32))
        batch.logits = _pointer(outputs, ctypes.c_int8)
        if tokens is not None:
            batch.token = _pointer(tokens, ctypes.c_int32)
        if features is not None:
            batch.embd = _pointer(features, ctypes.c_float)
        abort.attach(self._handle)
        status = llama_cpp.llama_decode(self._handle, batch)
        if status not in (0, _ABORTED):
            self._restart(0)
            raise TargetError(f"llama.cpp failed to evaluate the draft (status {status}): {last_errors()}")
        return bool(status == 0)


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(kind))
