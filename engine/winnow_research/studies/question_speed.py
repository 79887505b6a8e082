"""How long does the drafter take to read a question on the CPU, by the way its products are computed?

Three ways take turns over the same questions in one process: float32 in BLAS, as files are read; weights packed for few
rows; and packed, with what all questions begin with run once, as it ships. `seconds` are wall clock, `processor` the
seconds of all threads, both the median over all questions and rounds. `difference` is that of the hidden states from
those of BLAS, relative.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.shapes import Batch, Encoder, Float32
from winnow_engine.drafter.profiles import open_profile
from winnow_engine.drafter.segments import question_batch
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


def opened(path: Path) -> tuple[dict[str, CpuEncoder], Template]:
    """The encoder that ships, the two that lack something of it, and the words around a question."""
    header = read_header(path)
    profile = open_profile(GgufTensors(path, header), shape_of(header, 1), header.block_count).profile
    weights = replace(load_weights(path, header, profile.layers, profile.merge, pack=True), readout=profile.readout)
    plain = replace(weights, layers=tuple(replace(layer, packed=None) for layer in weights.layers))
    template = Template(Vocabulary(LlamaModel(path, vocabulary_only=True)))
    opening = question_batch([template.opening], len(template.prefix))
    encoders = {
        "blas": CpuEncoder(plain, template.prefix),
        "packed": CpuEncoder(weights, template.prefix),
        "shipped": CpuEncoder(weights, template.prefix, opening),
    }
    return encoders, template


def timed(encoder: Encoder, batch: Batch) -> tuple[float, float, Float32]:
    """Seconds, seconds of processors, and the hidden states."""
    started, processor = time.perf_counter(), time.process_time()
    hidden = encoder.encode(batch).hidden
    return time.perf_counter() - started, time.process_time() - processor, hidden


def measured(encoders: Mapping[str, Encoder], batches: Sequence[Batch], rounds: int) -> dict[str, dict[str, float]]:
    """The figures of each way, in turns."""
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in encoders}
    for batch in [*batches] * rounds:
        runs = {name: timed(encoder, batch) for name, encoder in encoders.items()}
        exact = runs["blas"][2]
        for name, (seconds, processor, hidden) in runs.items():
            difference = float(np.linalg.norm(hidden - exact) / np.linalg.norm(exact))
            found[name].append((seconds, processor, difference))
    return {name: _figures(rows) for name, rows in found.items()}


def _figures(rows: Sequence[tuple[float, float, float]]) -> dict[str, float]:
    seconds, processor, difference = (list(column) for column in zip(*rows, strict=True))
    return {"seconds": median(seconds, 4), "processor": median(processor, 4), "difference": median(difference, 5)}


def main() -> None:
    """Measure, print, write results/question-speed.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--questions", type=int, default=16, help="of the development split, as many as there are")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    encoders, template = opened(locate(DEFAULT_DRAFTER))
    texts = [written.text for one in repositories(Split.DEVELOPMENT) for written in load(one)][: given.questions]
    batches = [question_batch([template.question(text).ids], len(template.prefix)) for text in texts]
    for encoder in encoders.values():
        encoder.encode(batches[0])
    size = {"questions": len(texts), "tokens": median([float(len(batch.ids)) for batch in batches], 0)}
    report("question-speed", {**size, **measured(encoders, batches, given.rounds)})


if __name__ == "__main__":
    main()
