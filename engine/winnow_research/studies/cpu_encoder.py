"""How long does the drafter take on the CPU to read a question and a file, by the way its products are computed?

Three ways take turns in one process: float32 in BLAS; weights packed as integers; and packed, with what all questions
begin with run once, as it ships. Of questions, `seconds` are wall clock, `processor` the seconds of all threads, both
the median over all questions and rounds, and `difference` is that of the hidden states from those of BLAS, relative.
`file_tokens_per_s` are those of a segment of random tokens on one thread, by its processor time.

`readers` has how many tokens a second readers of so many layers would read on one thread, by wall clock: two segments
of random tokens through the layers as they are, which cost the same with a reader's updates merged into them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from winnow_cuda.backends import matrix_form
from winnow_cuda.blas_threads import one_blas_thread
from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.shapes import Batch, Float32
from winnow_engine.drafter.profiles import open_profile
from winnow_engine.drafter.segments import SEGMENT_TOKENS, question_batch
from winnow_engine.drafter.template import Template
from winnow_engine.drafter.weights import GgufTensors, load_weights, shape_of
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.cache import locate
from winnow_engine.models.gguf_header import read_header
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.tasks.real import load
from winnow_research.machine import median, report
from winnow_research.studies import study_parser

_READERS = (8, 12, 24)  # layers


def opened(path: Path) -> tuple[dict[str, CpuEncoder], Template]:
    """The encoder that ships, the two that lack something of it, and the words around a question."""
    header = read_header(path)
    profile = open_profile(GgufTensors(path, header), shape_of(header, 1), header.block_count).profile
    plain, weights = (
        replace(load_weights(path, header, profile.layers, profile.merge, form=form), readout=profile.readout)
        for form in ("float32", "packed")
    )
    template = Template(Vocabulary(LlamaModel(path, vocabulary_only=True)))
    opening = question_batch([template.opening], len(template.prefix))
    encoders = {
        "blas": CpuEncoder(plain, template.prefix),
        "packed": CpuEncoder(weights, template.prefix),
        "shipped": CpuEncoder(weights, template.prefix, opening),
    }
    return encoders, template


def timed(encoder: CpuEncoder, batch: Batch) -> tuple[float, float, Float32]:
    """Seconds, seconds of processors, and the hidden states."""
    started, processor = time.perf_counter(), time.process_time()
    hidden = encoder.encode(batch).hidden
    return time.perf_counter() - started, time.process_time() - processor, hidden


def measured(encoders: Mapping[str, CpuEncoder], batches: Sequence[Batch], rounds: int) -> dict[str, dict[str, float]]:
    """The figures of each way, in turns."""
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in encoders}
    for batch in [*batches] * rounds:
        runs = {name: timed(encoder, batch) for name, encoder in encoders.items()}
        exact = runs["blas"][2]
        for name, (seconds, processor, hidden) in runs.items():
            difference = float(np.linalg.norm(hidden - exact) / np.linalg.norm(exact))
            found[name].append((seconds, processor, difference))
    return {name: _figures(rows) for name, rows in found.items()}


def file_rate(encoder: CpuEncoder, tokens: int) -> float:
    """Tokens a second of processor time, one segment in one thread."""
    ids = np.random.default_rng(0).integers(1000, 100_000, tokens).astype(np.int32)
    batch = Batch(ids, np.arange(20, 20 + tokens, dtype=np.int32), np.array([0, tokens]))
    with one_blas_thread():
        started = time.thread_time()
        encoder.encode_keys(batch, np.array([[0, tokens]], np.int32))
        return tokens / (time.thread_time() - started)


def reader_rates(path: Path, rounds: int) -> dict[int, float]:
    """Tokens a second of readers with so many layers, the median of so many rounds, in turns."""
    header, ends = read_header(path), SEGMENT_TOKENS * np.arange(3)
    ids = np.random.default_rng(0).integers(1000, 100_000, ends[-1]).astype(np.int32)
    batch = Batch(ids, np.tile(np.arange(SEGMENT_TOKENS, dtype=np.int32), 2), ends)
    encoders = {
        layers: CpuEncoder(load_weights(path, header, layers, form=matrix_form()), ids[:0]) for layers in _READERS
    }
    rates: dict[int, list[float]] = {layers: [] for layers in _READERS}
    for layers in [*_READERS] * rounds:
        rates[layers].append(len(ids) / timed(encoders[layers], batch)[0])
    return {layers: median(each, 0) for layers, each in rates.items()}


def _figures(rows: Sequence[tuple[float, float, float]]) -> dict[str, float]:
    seconds, processor, difference = (list(column) for column in zip(*rows, strict=True))
    return {"seconds": median(seconds, 4), "processor": median(processor, 4), "difference": median(difference, 5)}


def main() -> None:
    """Measure, print, write results/cpu-encoder.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--questions", type=int, default=16, help="of the development split, as many as there are")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=1400, help="of the segment of a file")
    given = parser.parse_args()
    encoders, template = opened(locate(DEFAULT_DRAFTER))
    texts = [written.text for one in repositories(Split.DEVELOPMENT) for written in load(one)][: given.questions]
    batches = [question_batch([template.question(text).ids], len(template.prefix)) for text in texts]
    for encoder in encoders.values():
        encoder.encode(batches[0])
    size = {"questions": len(texts), "tokens": median([float(len(batch.ids)) for batch in batches], 0)}
    figures = measured(encoders, batches, given.rounds)
    rates: dict[str, list[float]] = {name: [] for name in encoders}
    for name, encoder in [*encoders.items()] * given.rounds:
        rates[name].append(file_rate(encoder, given.tokens))
    for name, each in rates.items():
        figures[name]["file_tokens_per_s"] = median(each, 0)
    report("cpu-encoder", {**size, **figures, "readers": reader_rates(locate(DEFAULT_DRAFTER), given.rounds)})


if __name__ == "__main__":
    main()
