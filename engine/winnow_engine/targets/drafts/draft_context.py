"""The llama.cpp context of a draft that reads the target's hidden states."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.errors import TargetError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import context_params
from winnow_engine.llama.log import last_errors
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.threads import ThreadPool

_ABORTED = 2


class DraftContext:
    """Evaluates rows at positions of the caller's, of which memory's are `shift` less."""

    shift = 0

    def __init__(self, model: LlamaModel, n_ctx: int, outputs: int, options: TargetOptions) -> None:
        """Make room for `n_ctx` positions and `outputs` rows of logits. TargetError without memory."""
        self.n_batch = options.n_ubatch
        self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(model.vocabulary))
        params = context_params(n_ctx, replace(options, kv_type="f16"), 1)
        params.n_outputs_max = outputs
        self.handle = llama_cpp.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise TargetError(f"cannot make a context of {n_ctx} tokens for the draft: {last_errors()}")
        self._threads = ThreadPool(options.threads, self.handle)
        self._memory = llama_cpp.llama_get_memory(self.handle)

    def decode(self, start: int, rows: NDArray[np.float32], abort: AbortFlag, last: int) -> bool:
        """Evaluate `rows` into memory from position `start` on, with logits of the `last` ones; False if aborted.

        Raises TargetError if llama.cpp fails. After that or an abort, memory may hold a part of the batch.
        """
        outputs = np.zeros(len(rows), np.int8)
        outputs[len(rows) - last :] = 1
        positions = np.arange(start, start + len(rows), dtype=np.int32) - np.int32(self.shift)
        batch = llama_cpp.llama_batch(n_tokens=len(rows), pos=_pointer(positions, ctypes.c_int32))
        batch.logits, batch.embd = _pointer(outputs, ctypes.c_int8), _pointer(rows, ctypes.c_float)
        abort.attach(self.handle)
        status = llama_cpp.llama_decode(self.handle, batch)
        if status not in (0, _ABORTED):
            raise TargetError(f"llama.cpp failed to evaluate the draft (status {status}): {last_errors()}")
        return bool(status == 0)

    def logits(self, rows: int) -> NDArray[np.float32]:
        """The first rows of logits of the last evaluation, shape (rows, vocabulary), valid until the next one."""
        shape = (rows, self.n_vocab)
        logits: NDArray[np.float32] = np.ctypeslib.as_array(llama_cpp.llama_get_logits(self.handle), shape)
        return logits

    def forget(self, start: int) -> None:
        """Forget everything from position `start` on."""
        llama_cpp.llama_memory_seq_rm(self._memory, 0, start - self.shift, -1)

    def clear(self) -> None:
        """Forget everything."""
        llama_cpp.llama_memory_clear(self._memory, False)

    def close(self) -> None:
        """Free the context."""
        llama_cpp.llama_free(self.handle)
        self._threads.close()


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(kind))
