"""A model's KV memory and the evaluation of tokens into it. Nothing here is thread-safe."""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager, nullcontext

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.errors import TargetError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.batches import row_batch, tree_batch
from winnow_engine.llama.devices import runs_cuda
from winnow_engine.llama.draft_tree import ROOT, DraftTree
from winnow_engine.llama.log import last_errors, silence
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.patched_functions import SharedPrefix, choices_of
from winnow_engine.llama.threads import ThreadPool

_KV_TYPES = {
    "f16": llama_cpp.GGML_TYPE_F16,
    "q8_0": llama_cpp.GGML_TYPE_Q8_0,
    "q4_0": llama_cpp.GGML_TYPE_Q4_0,
}
_SEQUENCE = 0
_ABORTED = 2

# Multiplications that attention makes on a core a second: 1.2e10 and 2.0e10 with AVX2, in two models.
_ATTENTION_PER_S = 1.5e10

# Tokens of a pass with CUDA, each with a graph of its own. One over 2 takes hardly less time than one over 8.
_PASS_SIZES = (8, 16)

PAST_STATES = 8
"""How many of its last tokens recurrent memory can forget. Each costs as much memory as all states together."""
_SPOILT = -1
_ON_DEVICE = llama_cpp.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY | llama_cpp.LLAMA_STATE_SEQ_FLAGS_ON_DEVICE


class LlamaContext:
    """A model's KV memory for one sequence, which may branch at its end, and the evaluation of tokens into it."""

    def __init__(self, model: LlamaModel, n_ctx: int, options: TargetOptions, branches: int = 1) -> None:
        """Make room for `n_ctx` tokens and trees of `branches` nodes. TargetError if there is no memory."""
        silence()
        self.n_ctx = n_ctx
        self._states = model.keeps_states
        self.attention_s = attention_s(model, options)
        self._n_vocab = int(llama_cpp.llama_vocab_n_tokens(model.vocabulary))
        self.n_batch = options.n_ubatch
        self._watcher = model.watcher
        params = self._params(model, options, branches)
        self.handle = llama_cpp.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise TargetError(
                f"cannot make a context of {n_ctx} tokens with {options.kv_type} keys and values: "
                f"{last_errors()}. Lower the budget, or choose a smaller KV type"
            )
        self._threads = ThreadPool(options.threads, self.handle)
        self._memory = llama_cpp.llama_get_memory(self.handle)
        self._prefix = SharedPrefix(self._memory)
        self._first = int(self._prefix.shared and branches > 1)  # of a tree's branches; sequence 0 is the trunk
        past = int(llama_cpp.llama_n_rs_seq(self.handle)) if self._states else branches
        # A tree is evaluated in one batch, with the token before it.
        self.branches = min(branches, past, self.n_batch - 1)
        self._sizes = () if self._states else pass_sizes(model, options)
        if self._sizes:
            self.branches = min(self.branches, self._sizes[-1] - 1)
        self._choices = choices_of(self.handle) if self._sizes else None
        self._outputs = 0
        self._through: list[list[int]] = []
        self._tokens = np.empty(0, np.int32)
        self._branched, self._undoable = 0, 0
        self._marked, self._mark = 0, np.empty(0, np.uint8)
        self.abort_with(AbortFlag())
        if self._watcher is not None:
            try:
                self._watcher.opened(self.handle, self.n_ctx)
            except TargetError:
                self._free()
                raise

    def _params(self, model: LlamaModel, options: TargetOptions, branches: int) -> llama_cpp.llama_context_params:
        params = context_params(self.n_ctx, options, branches)
        if self._states and branches > 1:
            params.n_seq_max, params.kv_unified = 1, False  # a state has no branches
            params.n_rs_seq = PAST_STATES
        return params

    def abort_with(self, flag: AbortFlag) -> None:
        """Obey `flag` from now on."""
        self._abort = flag
        flag.attach(self.handle)

    def decode(self, tokens: NDArray[np.int32], *, want_logits: bool, following: int = 0) -> bool:
        """Evaluate 1 to `n_batch` tokens behind those in memory, keeping the last one's logits if wanted.

        So many tokens of the prompt are `following`. False if aborted. After that, or after a TargetError, memory may
        hold a part of `tokens`.
        """
        assert 1 <= len(tokens) <= self.n_batch
        tokens = np.ascontiguousarray(tokens, np.int32)
        outputs = np.zeros(len(tokens), np.int8)
        outputs[-1] = want_logits
        self._outputs = int(want_logits)
        done = self._evaluate(row_batch(tokens, outputs), tokens)
        if done and self._watcher is not None:
            self._watcher.held(self._length() - len(tokens), np.arange(len(tokens)), tokens, following)
        return done

    def decode_tree(self, token: int, tree: DraftTree, position: int) -> bool:
        """Evaluate `token` at `position` and `tree` with all logits, node n's in row n + 1. False if aborted.

        `keep_branch` or `truncate` must follow.
        """
        assert 1 <= len(tree) <= self.branches
        first = self._first
        through = self._through = [[first + branch for branch in node] for node in tree.branches()]
        self._branched = 1 + max(branch for node in through for branch in node)
        if not self._prefix.share(position):
            for branch in range(1, self._branched):
                llama_cpp.llama_memory_seq_cp(self._memory, _SEQUENCE, branch, -1, -1)
        self._tokens = np.array([token, *tree.tokens], np.int32)
        depths = [0, *tree.depths()]
        end = 1 + max(depth for depth, branches in zip(depths[1:], through, strict=True) if first in branches)
        extra = self._padding(len(depths), position)
        # Behind the end of the first branch nothing sees the padding, and whatever is kept, it is forgotten.
        positions = position + np.array([*depths, *range(end, end + extra)], np.int32)
        tokens = np.append(self._tokens, np.full(extra, token, np.int32))
        branches = [list(range(first, self._branched)), *through, *[[first]] * extra]
        self._outputs = len(tokens)
        return self._evaluate(*tree_batch(tokens, positions, branches))

    def _padding(self, rows: int, held: int) -> int:
        """How many tokens a pass over `rows` tokens gets on top, if memory, which holds `held`, has room."""
        size = next((size for size in self._sizes if size >= rows), rows)
        return size - rows if size <= self.branches + 1 and held + size <= self.n_ctx else 0

    def keep_branch(self, node: int, start: int, length: int) -> bool:
        """Keep `length` tokens on the path to `node` or ROOT, `start` shared. False if memory cannot forget a part."""
        branch = self._first if node == ROOT else self._through[node][0]
        if branch != _SEQUENCE:
            begin = start - self._first  # the root is in sequence 0 only if that is a branch, too
            llama_cpp.llama_memory_seq_rm(self._memory, _SEQUENCE, begin, -1)
            llama_cpp.llama_memory_seq_cp(self._memory, branch, _SEQUENCE, begin, length)
        done = self.truncate(length) == length
        if done and self._watcher is not None:
            path = [node for node, through in enumerate(self._through) if branch in through][: length - start]
            rows = np.array([0, *(node + 1 for node in path)])
            self._watcher.held(start - 1, rows, self._tokens[rows], 0)
        return done

    def choosing(self) -> AbstractContextManager[None]:
        """Evaluate for `likeliest` alone: where a GPU finds these tokens, no logits are copied."""
        return nullcontext() if self._choices is None else self._choices.instead_of_logits()

    def likeliest(self, row: int = -1) -> int:
        """The token with the largest logit in a row, on a CPU the first of equals. TargetError if none is a number."""
        chosen = self._choices and self._choices.last()
        if not chosen:
            return int(self.logits(row).argmax())
        token = chosen[row if row >= 0 else self._outputs + row]
        if token < 0:
            raise TargetError("the target's logits are not numbers: its file may be damaged, so pull it again")
        return token

    def logits(self, row: int = -1) -> NDArray[np.float32]:
        """Logits [vocabulary] of a row that the last evaluation was asked for, valid until the next; -1 is the last."""
        return np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(self.handle, row), (self._n_vocab,))

    def _evaluate(self, batch: llama_cpp.llama_batch, *_kept_alive: object) -> bool:
        if self._abort.is_set():
            return False
        self._undoable = _SPOILT
        status = llama_cpp.llama_decode(self.handle, batch)
        if status not in (0, _ABORTED):
            raise TargetError(f"llama.cpp failed to evaluate (status {status}): {last_errors()}")
        if status == 0:
            self._undoable = batch.n_tokens - 1
        return bool(status == 0)

    def truncate(self, length: int) -> int:
        """Forget all but the first `length` tokens, or fewer if this memory must. Returns how many are left."""
        for branch in range(1, self._branched):
            llama_cpp.llama_memory_seq_rm(self._memory, branch, -1, -1)
        self._branched = 0
        held, left = self._length(), self.truncated(length)
        if left and not self._forgets(left):
            left = left * self._put(self._mark, _ON_DEVICE)
        self._undoable = self._undoable if held <= left else 0  # past states are for one use
        if self._watcher is not None:
            self._watcher.forgot(left)
        if left < self._marked:
            self._marked = 0
        if not left or not llama_cpp.llama_memory_seq_rm(self._memory, _SEQUENCE, left, -1):
            self.clear()
            return 0
        return left

    def truncated(self, length: int) -> int:
        """How many tokens `truncate` leaves. Of recurrent states there are the last evaluation's and the one marked."""
        if self._forgets(length):
            return length
        return self._marked if self._marked <= length else 0

    def _forgets(self, length: int) -> bool:
        return not self._states or max(0, self._length() - length) <= self._undoable

    def mark(self) -> None:
        """Let `truncate` come back to here, on memory that keeps states, instead of to an earlier mark."""
        if self._states:
            self._mark, self._marked = self.state(_ON_DEVICE), self._length()

    def state_bytes(self, flags: int = 0) -> int:
        """The length of `state` in bytes."""
        return int(llama_cpp.llama_state_seq_get_size_ext(self.handle, _SEQUENCE, flags))

    def state(self, flags: int = 0) -> NDArray[np.uint8]:
        """A copy of memory, for `restore` in a context of the same model and KV type, whatever its size."""
        state = np.empty(self.state_bytes(flags), np.uint8)
        pointer = state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        return state[: llama_cpp.llama_state_seq_get_data_ext(self.handle, pointer, len(state), _SEQUENCE, flags)]

    def restore(self, state: NDArray[np.uint8]) -> bool:
        """Replace memory by `state`. False, with memory left empty, if llama.cpp refuses it."""
        self.clear()
        done = self._put(state)
        if not done:
            self.clear()
        return done

    def _put(self, state: NDArray[np.uint8], flags: int = 0) -> bool:
        pointer = state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        read = llama_cpp.llama_state_seq_set_data_ext(self.handle, pointer, len(state), _SEQUENCE, flags)
        return bool(0 < len(state) == read)

    def _length(self) -> int:
        return int(llama_cpp.llama_memory_seq_pos_max(self._memory, _SEQUENCE)) + 1

    def clear(self) -> None:
        """Forget all tokens."""
        if self._watcher is not None:
            self._watcher.forgot(0)
        self._undoable = self._marked = 0
        llama_cpp.llama_memory_clear(self._memory, False)

    def close(self) -> None:
        """Free the context."""
        if self._watcher is not None:
            self._watcher.closing()
        self._free()

    def _free(self) -> None:
        llama_cpp.llama_free(self.handle)
        self._threads.close()


def pass_sizes(model: LlamaModel, options: TargetOptions) -> tuple[int, ...]:
    """The sizes that passes over few tokens are filled up to; none where no CUDA graph runs the whole model."""
    every = options.gpu_layers is None or options.gpu_layers > model.layers
    whole = every and not options.experts_in_memory
    return _PASS_SIZES if whole and evaluates_on_gpu(options) and runs_cuda() else ()


def evaluates_on_gpu(options: TargetOptions) -> bool:
    """Whether a GPU evaluates the model."""
    return bool(options.gpu_layers != 0 and llama_cpp.llama_supports_gpu_offload())


def attention_s(model: LlamaModel, options: TargetOptions) -> float:
    """How many seconds longer a token takes for each token before it, about; 0 on a GPU, where nobody waits for it."""
    multiplications = 2 * model.layers * model.width
    return 0.0 if evaluates_on_gpu(options) else multiplications / (options.threads * _ATTENTION_PER_S)


def context_params(n_ctx: int, options: TargetOptions, branches: int) -> llama_cpp.llama_context_params:
    """The parameters of a context of `n_ctx` tokens; `branches` as in `LlamaContext`."""
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = n_ctx
    params.n_batch = params.n_ubatch = options.n_ubatch
    params.n_threads = params.n_threads_batch = options.threads
    params.type_k = params.type_v = _KV_TYPES[options.kv_type]
    # One row of logits per batch instead of n_ubatch rows: SmolLM2 needs 16 MB of compute buffers, not 103.
    params.n_outputs_max = 1
    if branches > 1:
        params.n_outputs_max = branches + 1
        params.n_seq_max, params.kv_unified = branches + 1, True  # one memory, shared by trunk and branches
    if options.kv_type != "f16":
        # llama.cpp reads quantised values only with flash attention.
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
    return params
