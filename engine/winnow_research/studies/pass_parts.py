"""Where does the time of a pass go? Passes over a few tokens with all logits, one row of them, or none.

They are also timed with llama.cpp choosing the tokens where it computes, and with layers' outputs copied as a trained
draft has it. Tokens stand behind one another in one sequence and are forgotten after each pass. Sizes do not take
turns, since CUDA graphs are replayed only for the size before. `step` is a plain round of the decode loop.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Iterator

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_cuda.device import availability
from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.llama.context import LlamaContext, context_params
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.layer_inputs import LayerTap
from winnow_engine.llama.log import last_errors, silence
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.threads import ThreadPool
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.cache import locate
from winnow_engine.targets.base import ignore
from winnow_engine.targets.drafts.base import MOST_NODES, NoDraft
from winnow_engine.targets.local.decoding import DecodedAnswer, decode
from winnow_research.machine import report
from winnow_research.studies import study_parser

_SIZES = (1, 2, 4, 8, 16)
_STEPS = 96
_WARM = 4  # passes of a size before those that count
_KINDS = ("all", "one", "none", "chosen", "tapped")


class Passes:
    """A context of one kind, and passes in it behind a prompt of random tokens."""

    def __init__(self, model: LlamaModel, context: int, kind: str, options: TargetOptions) -> None:
        silence()
        params = context_params(context + 64, options, MOST_NODES)
        params.n_outputs_max = params.n_outputs_max_per_seq = 1 + MOST_NODES
        layers = [max(1, model.layers // 7), model.layers // 2 + 1, model.layers - 2]
        self._tap = LayerTap(params, layers, model.width) if kind == "tapped" else None
        self._handle = llama_cpp.llama_init_from_model(model.handle, params)
        assert self._handle, "llama.cpp made no context"
        self._threads = ThreadPool(options.threads)
        self._threads.attach(self._handle)
        self._memory = llama_cpp.llama_get_memory(self._handle)
        self._kind, self._context = kind, context
        self._vocabulary = int(llama_cpp.llama_vocab_n_tokens(model.vocabulary))
        self._random = np.random.default_rng(0)
        for start in range(0, context, options.n_ubatch):
            self._decode(min(options.n_ubatch, context - start), np.zeros(context, np.int8))
        self.works = kind != "chosen" or self._choose()

    def _choose(self) -> bool:
        self._chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
        llama_cpp.llama_sampler_chain_add(self._chain, llama_cpp.llama_sampler_init_greedy())
        return bool(llama_cpp.llama_set_sampler(self._handle, 0, self._chain))

    def _decode(self, size: int, rows: NDArray[np.int8]) -> None:
        tokens = self._random.integers(0, min(self._vocabulary, 4000), size).astype(np.int32)
        batch = llama_cpp.llama_batch(
            n_tokens=size,
            token=tokens.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            logits=rows.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )
        status = llama_cpp.llama_decode(self._handle, batch)
        assert status == 0, f"llama.cpp failed to evaluate {size} tokens ({self._kind}): {last_errors()}"

    def run(self, size: int) -> dict[str, float]:
        """Seconds until `llama_decode` returned, until all was computed, and until the tokens were chosen."""
        rows = np.full(size, self._kind not in ("one", "none"), np.int8)
        rows[-1] = self._kind != "none"
        times = [time.perf_counter()]
        self._decode(size, rows)
        times.append(time.perf_counter())
        llama_cpp.llama_synchronize(self._handle)
        times.append(time.perf_counter())
        self._read(np.flatnonzero(rows))
        times.append(time.perf_counter())
        llama_cpp.llama_memory_seq_rm(self._memory, 0, self._context, -1)
        parts = dict(zip(("decode", "wait", "read"), np.diff(times).tolist(), strict=True))
        return parts | {"whole": times[-1] - times[0]}

    def _read(self, rows: NDArray[np.intp]) -> None:
        for row in rows.tolist():
            if self._kind == "chosen":
                llama_cpp.llama_get_sampled_token_ith(self._handle, row)
            else:
                logits = llama_cpp.llama_get_logits_ith(self._handle, row)
                int(np.ctypeslib.as_array(logits, (self._vocabulary,)).argmax())
        if self._tap is not None:
            self._tap.rows(rows)

    def close(self) -> None:
        """Free the context."""
        llama_cpp.llama_free(self._handle)
        self._threads.close()


def parts(
    model: LlamaModel, context: int, kind: str, repeat: int, options: TargetOptions
) -> Iterator[tuple[int, dict[str, float]]]:
    """Median milliseconds of the parts of a pass, by its size; nothing if llama.cpp has no such kind."""
    passes = Passes(model, context, kind, options)
    for size in _SIZES if passes.works else ():
        found = [passes.run(size) for _ in range(_WARM + repeat)][_WARM:]
        yield size, {name: _ms([one[name] for one in found]) for name in found[0]}
    passes.close()


def step(model: LlamaModel, context: int, options: TargetOptions) -> float:
    """Milliseconds of a plain round of the decode loop; the fastest of three answers."""
    cache = KvCache(LlamaContext(model, context + 2 * _STEPS, options))
    random, vocabulary = np.random.default_rng(0), Vocabulary(model)
    prompt = random.integers(0, min(4000, vocabulary.size), context).astype(np.int32)
    found = []
    for _ in range(3):
        cache.reuse(prompt)
        cache.prefill(prompt)
        answer, started = DecodedAnswer(ignore), time.perf_counter()
        decode(answer, cache, vocabulary, Sampling(max_tokens=_STEPS), NoDraft())
        found.append((time.perf_counter() - started) / max(1, answer.rounds))
    cache.context.close()
    return _ms([min(found)])


def _ms(seconds: list[float]) -> float:
    return round(1000 * statistics.median(seconds), 3)


def main() -> None:
    """Measure, print and write results/pass-parts.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("model", metavar="NAME|FILE")
    parser.add_argument("--context", type=int, nargs="+", default=[500, 4000])
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--kind", nargs="+", choices=_KINDS, default=_KINDS)
    arguments = parser.parse_args()
    file, options = locate(arguments.model), TargetOptions(n_threads=arguments.threads)
    model = LlamaModel(file)
    rows = {}
    for context in arguments.context:
        kinds = {kind: dict(parts(model, context, kind, arguments.repeat, options)) for kind in arguments.kind}
        rows[context] = {"step": step(model, context, options), **kinds}
    report("pass-parts", {"device": availability().reason, "model": file.name, "ms": rows})


if __name__ == "__main__":
    main()
