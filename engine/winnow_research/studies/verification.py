"""What does it cost to verify drafted tokens? Passes over a token and some drafted ones, against plain decode steps.

llama.cpp is called as the target calls it, with the logits of every row, behind random tokens; sizes take turns. A
recurrent target is also measured with the past states that it needs to roll back. The model needs no vocabulary.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import time
from typing import Any

import llama_cpp
import numpy as np

from winnow_cuda.device import availability
from winnow_engine.config import TargetOptions
from winnow_engine.llama.context import PAST_STATES, context_params
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.threads import ThreadPool
from winnow_engine.models.cache import locate
from winnow_research.machine import report
from winnow_research.studies import study_parser

_DRAFTED = (0, 2, 4, 8, 16, 32)


class Passes:
    """A context, and passes over random tokens in it."""

    def __init__(self, model: LlamaModel, n_ctx: int, options: TargetOptions, past_states: int) -> None:
        params = context_params(n_ctx, options, 1 + max(_DRAFTED))
        params.n_seq_max, params.kv_unified, params.n_rs_seq = 1, False, past_states
        self._handle = llama_cpp.llama_init_from_model(model.handle, params)
        assert self._handle, "llama.cpp made no context"
        self._threads = ThreadPool(options.threads)
        self._threads.attach(self._handle)
        self._random, self._n_batch = np.random.default_rng(0), options.n_ubatch
        self._vocabulary = int(llama_cpp.llama_vocab_n_tokens(model.vocabulary))

    def prompt(self, tokens: int) -> None:
        """Evaluate so many random tokens."""
        for start in range(0, tokens, self._n_batch):
            self.run(min(self._n_batch, tokens - start), every_row=False)

    def run(self, size: int, every_row: bool = True) -> float:
        """Seconds of a pass over `size` more tokens, until its logits are there."""
        tokens = self._random.integers(0, min(self._vocabulary, 4000), size).astype(np.int32)
        rows = np.full(size, every_row, np.int8)
        rows[-1] = True
        pointers: dict[str, tuple[Any, Any]] = {"token": (tokens, ctypes.c_int32), "logits": (rows, ctypes.c_int8)}
        borrowed = {name: of.ctypes.data_as(ctypes.POINTER(kind)) for name, (of, kind) in pointers.items()}
        started = time.perf_counter()
        status = llama_cpp.llama_decode(self._handle, llama_cpp.llama_batch(n_tokens=size, **borrowed))
        llama_cpp.llama_get_logits_ith(self._handle, -1)
        assert status == 0, f"llama.cpp failed to evaluate {size} tokens (status {status})"
        return time.perf_counter() - started

    def close(self) -> None:
        """Free the context."""
        llama_cpp.llama_free(self._handle)
        self._threads.close()


def measure(model: LlamaModel, arguments: argparse.Namespace, past_states: int) -> dict[int, list[float]]:
    """Seconds by drafted tokens."""
    room = arguments.context + (arguments.repeat + 1) * sum(1 + size for size in _DRAFTED) + 64
    passes = Passes(model, room, TargetOptions(n_threads=arguments.threads), past_states)
    passes.prompt(arguments.context)
    sizes = [size for size in _DRAFTED if not past_states or size <= past_states]
    for size in sizes:
        passes.run(1 + size)
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    for size in sizes * arguments.repeat:
        seconds[size].append(passes.run(1 + size))
    passes.close()
    return seconds


def main() -> None:
    """Measure, print and write results/verification.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("model", metavar="NAME|FILE")
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    file = locate(arguments.model)
    model = LlamaModel(file)
    kinds = {"no past states": 0, "past states": PAST_STATES} if model.keeps_states else {"attention alone": 0}
    rows, plain = {}, 0.0
    for kind, past_states in kinds.items():
        seconds = {size: statistics.median(found) for size, found in measure(model, arguments, past_states).items()}
        plain = plain or seconds[0]
        ratios = {size: round(found / plain, 2) for size, found in seconds.items()}
        rounded = {size: float(f"{found:.4g}") for size, found in seconds.items()}
        rows[kind] = {"seconds": rounded, "plain_steps": ratios}
    context = {"model": file.name, "context": arguments.context, "repeat": arguments.repeat}
    report("verification", {"device": availability().reason, **context, "rows": rows})


if __name__ == "__main__":
    main()
