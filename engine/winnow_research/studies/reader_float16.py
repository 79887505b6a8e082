"""Is a reader's pass through all layers safe in float16, which is what a GPU keeps between its products?

Reads some segments of recorded questions (`joint_reader record`) on the CPU, in float32 and with what `GpuEncoder`
keeps in float16 rounded to that. The largest absolute values show how far they are from 65,504, the differences between
scores how much the rounding changes. Sums are float32 in both, as on a GPU. Where there is one, it reads them as well.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from winnow_cuda.cpu import encoder
from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.device import availability
from winnow_cuda.ops.swiglu import swiglu
from winnow_cuda.shapes import Float32, Weights
from winnow_engine.core import Cancellation
from winnow_engine.drafter.reader import reading
from winnow_engine.drafter.reader.file import read_reader
from winnow_engine.drafter.reader.layout import ReadSegment
from winnow_engine.drafter.template import Template
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.cache import locate
from winnow_engine.models.gguf_header import read_header
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_research.evaluation.repositories import Split
from winnow_research.machine import report
from winnow_research.studies import study_parser
from winnow_research.training.reader.judging import WAYS, Record


class Kept:
    """What a GPU keeps in float16, seen in the CPU's encoder: its largest values by name, and rounded if `rounds`."""

    def __init__(self, rounds: bool) -> None:
        self._rounds = rounds
        self.largest: dict[str, float] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Patch the encoder's ops."""
        names = ("rms_norm", "segment_attention", "_product", "_gated")
        with patch.multiple(encoder, **{name: getattr(self, name.lstrip("_")) for name in names}):
            yield

    def rms_norm(self, x: Float32, *rest: Any) -> Float32:
        """As the op."""
        self._seen("residual, float32", x)
        return self._half("normed", _OPS["rms_norm"](x, *rest))

    def segment_attention(self, q: Float32, k: Float32, v: Float32, *rest: Any) -> Float32:
        """As the op. Keys lose their mean, as the GPU's lose their centre: it moves a query's scores alike."""
        parts = self._half("queries", q), self._half("keys, centred", k - k.mean(0)), self._half("values", v)
        return self._half("mixed", _OPS["segment_attention"](*parts, *rest))

    def product(self, rows: Float32, matrix: Float32, _: int) -> Float32:
        """As the encoder's, with float16 in what is projected."""
        found = rows @ self._half("weights", matrix).T
        return self._half("projected", found) if len(matrix) > matrix.shape[1] else found

    def gated(self, rows: Float32, gate_up: Float32, *_: Any) -> Float32:
        """As the encoder's."""
        found = rows @ self._half("weights", gate_up).T
        self._seen("gate and up", found)
        return self._half("activated", swiglu(found))

    def _half(self, name: str, x: Float32) -> Float32:
        self._seen(name, x)
        return x.astype(np.float16).astype(np.float32) if self._rounds else x

    def _seen(self, name: str, x: Float32) -> None:
        self.largest[name] = max(self.largest.get(name, 0.0), float(np.abs(x).max(initial=0)))


_OPS = {name: getattr(encoder, name) for name in ("rms_norm", "segment_attention")}


def compared(exact: Float32, others: Mapping[str, Float32]) -> dict[str, Any]:
    """The deviation of scores in float32, and how far others are from these."""
    found: dict[str, Any] = {"units": len(exact), "deviation": round(float(exact.std()), 4)}
    for name, scores in others.items():
        away = np.abs(scores - exact)
        found[name] = {"largest": round(float(away.max()), 5), "rms": round(float(np.sqrt(np.mean(away**2))), 5)}
    return found


def _on_cpu(weights: Weights, *_: Any) -> CpuEncoder:
    return CpuEncoder(weights, np.empty(0, np.int32))


def _chosen(records: Sequence[Record], reader: reading.Reader, count: int) -> list[ReadSegment]:
    """A segment each of so many questions, now one of the first, now one of the last."""
    found = []
    for number, at in enumerate(np.linspace(0, len(records) - 1, min(count, len(records))).astype(int).tolist()):
        record = records[at]
        texts = [record.texts[place] for place in record.ways[WAYS[-1]][0].tolist()]
        segments = reader.segments(record.questions[0], texts)
        found.append(segments[number % len(segments)])
    return found


def main() -> None:
    """Read, print, write results/reader-float16.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("folder", type=Path, help="where records are")
    parser.add_argument("--reader", type=Path, required=True, help="its file")
    parser.add_argument("--model", default=DEFAULT_DRAFTER, help="whose layers it has")
    parser.add_argument("--split", type=Split, default=Split.CALIBRATION)
    parser.add_argument("--questions", type=int, default=4, help="of which one segment each is read")
    given = parser.parse_args()
    model = locate(given.model)
    prefix = Template(Vocabulary(LlamaModel(model, vocabulary_only=True))).prefix
    file = read_reader(given.reader, read_header(model))
    with patch.multiple(reading, bare_matrix_form=lambda: "float32", open_bare_encoder=_on_cpu):
        reader = reading.open_reader(model, file, prefix)
    records = pickle.loads((given.folder / f"records-{given.split}.pickle").read_bytes())
    segments, exactly, roundly = _chosen(records, reader, given.questions), Kept(rounds=False), Kept(rounds=True)
    with exactly.watching():
        exact = reader.scores(segments, Cancellation())
    with roundly.watching():
        others = {"in float16": reader.scores(segments, Cancellation())}
    if availability().usable:
        others["on the device"] = reading.open_reader(model, file, prefix).scores(segments, Cancellation())
    figures = {
        "tokens": sum(map(len, segments)),
        "largest": {name: round(value, 1) for name, value in exactly.largest.items()},
        "scores": compared(exact, others),
    }
    report("reader-float16", figures)


if __name__ == "__main__":
    main()
