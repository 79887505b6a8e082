"""Runs a reranker: segments through a model's layers with its updates, and the head over the hidden states."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from winnow_cuda.backends import bare_matrix_form, open_bare_encoder
from winnow_cuda.shapes import Batch, Float32, Int32, RowEncoder
from winnow_engine.core import Cancellation
from winnow_engine.encoder.kernel_cache import default_folder
from winnow_engine.encoder.merged_weights import MergedWeights, name_of
from winnow_engine.encoder.merged_weights import default_folder as weights_folder
from winnow_engine.encoder.segments import SEGMENT_TOKENS, pack
from winnow_engine.encoder.weights import GgufTensors, load_weights
from winnow_engine.models.gguf_header import read_header
from winnow_engine.reranker.file import RerankerFile, RerankerHead
from winnow_engine.reranker.layout import RerankerSegment, UnitText, segments_of


class Reranker:
    """Scores units that it reads together, behind a question. Safe to use from several threads."""

    def __init__(self, encoder: RowEncoder, head: RerankerHead, prefix: Int32) -> None:
        """`encoder` runs all layers with the updates, behind nothing; segments begin with `prefix`."""
        self._encoder, self._head, self._prefix = encoder, head, prefix

    def segments(self, question: Int32, units: Sequence[UnitText]) -> list[RerankerSegment]:
        """A question's tokens (`Template.question`) and units, in the order given, as they are read."""
        closing = units[0].header[:1] if units else np.empty(0, np.int32)
        return list(segments_of(self._prefix, question, units, closing, SEGMENT_TOKENS))

    def scores(self, segments: Sequence[RerankerSegment], cancellation: Cancellation) -> Float32:
        """The scores of the segments' units, in turn, as log-odds up to a constant: float32 [U].

        Raises CancelledError within the time of a layer, and DeviceError if the device fails.
        """
        found = [np.empty(0, np.float32)]
        for group in pack(segments, self._encoder.batch_tokens):
            cancellation.check()
            offsets = np.cumsum([0, *map(len, group)])
            positions = np.concatenate([np.arange(len(one), dtype=np.int32) for one in group])
            batch = Batch(np.concatenate([one.ids for one in group]), positions, offsets)
            read = self._encoder.encode_rows(batch, cancellation.check)
            for segment, start, stop in zip(group, offsets, offsets[1:], strict=False):
                found.append(self._head.scores(read[start:stop], segment.starts, segment.stops))
        return np.concatenate(found)

    def seconds(self, tokens: int) -> float:
        """The time that this machine takes to read that many tokens: the shorter of two, after one to warm up."""
        count = -(-tokens // SEGMENT_TOKENS)
        ids = np.resize(self._prefix, SEGMENT_TOKENS)
        segment = RerankerSegment(ids, np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, SEGMENT_TOKENS))
        ends = []
        for _ in range(3):
            self.scores([segment] * count, Cancellation())
            ends.append(time.perf_counter())
        return float(np.diff(ends).min()) * tokens / (count * SEGMENT_TOKENS)


def load_reranker(model: Path, file: RerankerFile, prefix: Int32) -> Reranker:
    """A reranker with the layers of a GGUF, on this machine's device, or on the CPU where there is none.

    `prefix` is the template's. Raises DeviceError and the drafter's errors.
    """
    header, form = read_header(model), bare_matrix_form()
    identity = GgufTensors(model, header).identity(file.layers, file.identity)
    kept = MergedWeights(weights_folder(), name_of(identity, form))
    weights = load_weights(model, header, file.layers, file.updates.merged, kept, form)
    weights = replace(weights, rows=file.head.rows)
    return Reranker(open_bare_encoder(weights, default_folder()), file.head, prefix)
