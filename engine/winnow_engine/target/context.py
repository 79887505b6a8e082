"""A model's KV memory and the evaluation of tokens into it. Nothing here is thread-safe."""

from __future__ import annotations

import ctypes

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.errors import TargetError
from winnow_engine.llama.log import last_errors, silence
from winnow_engine.llama.model import Model
from winnow_engine.target.abort import AbortFlag
from winnow_engine.target.options import TargetOptions

_KV_TYPES = {
    "f16": llama_cpp.GGML_TYPE_F16,
    "q8_0": llama_cpp.GGML_TYPE_Q8_0,
    "q4_0": llama_cpp.GGML_TYPE_Q4_0,
}
_SEQUENCE = 0
_ABORTED = 2


class Context:
    """A model's KV memory for one sequence, and the evaluation of tokens into it."""

    def __init__(self, model: Model, n_ctx: int, options: TargetOptions) -> None:
        """Make room for `n_ctx` tokens. Raise TargetError if there is no memory for them."""
        silence()
        self.n_ctx = n_ctx
        self.n_batch = options.n_ubatch
        self.handle = llama_cpp.llama_init_from_model(model.handle, _context_params(n_ctx, options))
        if not self.handle:
            raise TargetError(
                f"cannot make a context of {n_ctx} tokens with {options.kv_type} keys and values: "
                f"{last_errors()}. Lower the budget, or choose a smaller KV type"
            )
        self._memory = llama_cpp.llama_get_memory(self.handle)
        self.abort_with(AbortFlag())

    def abort_with(self, flag: AbortFlag) -> None:
        """Obey `flag` from here on."""
        self._abort = flag
        flag.attach(self.handle)

    def decode(self, tokens: NDArray[np.int32], *, want_logits: bool) -> bool:
        """Evaluate 1 to `n_batch` tokens behind those in memory, keeping the last one's logits if wanted.

        False if aborted. After that, or after TargetError, memory may hold some of `tokens`.
        """
        assert 1 <= len(tokens) <= self.n_batch
        if self._abort.is_set():
            return False
        tokens = np.ascontiguousarray(tokens, np.int32)
        outputs = np.zeros(len(tokens), np.int8)
        outputs[-1] = want_logits
        status = llama_cpp.llama_decode(self.handle, _batch(tokens, outputs))
        if status not in (0, _ABORTED):
            raise TargetError(f"llama.cpp failed to evaluate (status {status}): {last_errors()}")
        return bool(status == 0)

    def truncate(self, length: int) -> bool:
        """Forget all but the first `length` tokens; False if this memory cannot forget only a part."""
        return bool(llama_cpp.llama_memory_seq_rm(self._memory, _SEQUENCE, length, -1))

    def clear(self) -> None:
        """Forget all tokens."""
        llama_cpp.llama_memory_clear(self._memory, False)

    def close(self) -> None:
        """Free the context."""
        llama_cpp.llama_free(self.handle)


def _context_params(n_ctx: int, options: TargetOptions) -> llama_cpp.llama_context_params:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = n_ctx
    params.n_batch = params.n_ubatch = options.n_ubatch
    params.n_threads = params.n_threads_batch = options.threads
    params.type_k = params.type_v = _KV_TYPES[options.kv_type]
    # One row of logits a batch instead of n_ubatch rows: SmolLM2 needs 16 MB of compute buffers, not 103.
    params.n_outputs_max = 1
    if options.kv_type != "f16":
        # llama.cpp reads quantised values only in its flash attention.
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
    return params


def _batch(tokens: NDArray[np.int32], outputs: NDArray[np.int8]) -> llama_cpp.llama_batch:
    """A batch that borrows both arrays, which the caller keeps alive.

    Null positions and sequences mean: next in line, sequence 0.
    """
    return llama_cpp.llama_batch(
        n_tokens=len(tokens),
        token=tokens.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
        logits=outputs.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
    )
