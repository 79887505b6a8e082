"""The published method of speculative prefill: attention to the whole prompt, encoded jointly, through all layers.

SpecPrefill (arXiv 2502.02789): the queries are the last prompt token and 8 decoded look-ahead tokens, after RoPE.
Softmax over the context → average pool of 13 → maximum over layers and heads → mean over queries → mean of each chunk
of 32 tokens; the best chunks are kept. pflash: the queries are the last 8 prompt tokens, queries and keys before RoPE;
softmax → maximum → mean → pool → chunks. (pflash also keeps the first 8 and last 24 chunks of its prompt. Here these
would be the instructions and the question, which are always kept.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from winnow_cuda.backends import open_encoder
from winnow_cuda.device import availability
from winnow_cuda.ops.elementwise import rms_norm, rope, rope_table
from winnow_cuda.shapes import Batch, Encoder, Float32, Int32, Int64, Weights
from winnow_engine.encoder.kernel_cache import default_folder
from winnow_engine.encoder.template import Template
from winnow_engine.encoder.weights import GgufTensors, load_weights
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.gguf_header import read_header
from winnow_engine.question import Question
from winnow_engine.selection.budget import KeptUnit
from winnow_research.evaluation.methods.base import Method, Ranker, Ranking, Resources, Subject

LOOK_AHEAD, POOL, CHUNK = 8, 13, 32


class Published:
    """SpecPrefill if `rotated`, else pflash."""

    def __init__(self, drafter: Path, rotated: bool) -> None:
        # Joint encoding through all layers: 8K tokens take a minute on two cores, 32K a quarter of an hour.
        self.most_tokens: int | None = 40_000 if availability().usable else 9_000
        self.name = "SpecPrefill" if rotated else "pflash"
        self._file, self._rotated = drafter, rotated

    def ranker(self, subject: Subject) -> Ranker:
        """See `Method`."""
        model = self._model
        context = context_of(subject, model)
        every = frozenset(range(model.weights.shape.layers))
        keys = model.behind(_NOTHING).encode(_batch(context.ids, 0), every).keys
        if self._rotated:
            keys = {layer: model.rotated(rows, 0) for layer, rows in keys.items()}
        behind = model.behind(context.ids)

        def rank(question: Question) -> Ranking:
            asked = model.question(question, subject)
            ids = model.continued(behind, asked, len(context.ids)) if self._rotated else asked
            found = behind.encode(_batch(ids, len(context.ids)), every).queries
            last = len(ids) - (LOOK_AHEAD + 1 if self._rotated else LOOK_AHEAD)
            queries = {layer: np.ascontiguousarray(rows[last:]) for layer, rows in found.items()}
            if self._rotated:
                scores = specprefill(model, queries, keys, first_position=len(context.ids) + last)
            else:
                scores = pflash(queries, keys)
            return by_chunks(context, scores, subject)

        return rank

    @cached_property
    def _model(self) -> FullDrafter:
        return FullDrafter(self._file)


_NOTHING = np.empty(0, np.int32)


@dataclass(frozen=True)
class JointPrompt:
    """A workspace as one prompt, int32 [S]; unit u has the tokens starts[u]:ends[u]."""

    ids: Int32
    starts: Int64
    ends: Int64


class FullDrafter:
    """All layers of a drafter, and its output head."""

    def __init__(self, file: Path) -> None:
        header = read_header(file)
        tensors = GgufTensors(file, header)
        self.weights: Weights = load_weights(file, header, header.block_count)
        self.vocabulary = Vocabulary(LlamaModel(file, vocabulary_only=True))
        self.template = Template(self.vocabulary)
        self._norm = tensors.read("output_norm.weight")
        tied = tensors.maybe("output.weight")
        self._head = tensors.read("token_embd.weight") if tied is None else tied

    def behind(self, prefix: Int32) -> Encoder:
        """An encoder of all layers, for tokens that attend to a prefix."""
        return open_encoder(self.weights, prefix, default_folder(), lambda _: None)

    def rotated(self, rows: Float32, first_position: int) -> Float32:
        """Queries or keys [N, H, D] of consecutive tokens after RoPE."""
        shape = self.weights.shape
        positions = np.arange(first_position, first_position + len(rows), dtype=np.int32)
        return rope(rows, *rope_table(positions, shape.head_dim, shape.rope_base), shape.rope_interleaved)

    def question(self, question: Question, subject: Subject) -> Int32:
        """The question as the end of the prompt."""
        return self.template.question(question.text, subject.code_at(question)).ids

    def continued(self, behind: Encoder, ids: Int32, first: int) -> Int32:
        """`ids`, which begin at position `first`, and the LOOK_AHEAD tokens that greedy decoding adds to them."""
        for _ in range(LOOK_AHEAD):
            last = behind.encode(_batch(ids, first)).hidden[-1:]
            logits = self._head @ rms_norm(last, self._norm, self.weights.shape.rms_eps)[0]
            ids = np.append(ids, np.int32(logits.argmax()))
        return ids


def context_of(subject: Subject, model: FullDrafter) -> JointPrompt:
    """The drafter's prefix, then the files in path order, each after its header."""
    parts, starts, ends = [model.template.prefix], [], []
    position = len(parts[0])
    for file in subject.workspace.files:
        header = model.template.header(file.path)
        parts.append(header)
        position += len(header)
        for unit in file.units:
            parts.append(model.vocabulary.tokenize(file.text_of(unit)))
            starts.append(position)
            position += len(parts[-1])
            ends.append(position)
    return JointPrompt(np.concatenate(parts), np.array(starts, np.int64), np.array(ends, np.int64))


def specprefill(
    model: FullDrafter, queries: dict[int, Float32], keys: dict[int, Float32], first_position: int
) -> Float32:
    """A score for each context token, float32 [S], from queries [N, H, D] by layer and keys after RoPE.

    The queries are before RoPE; the first of them stands at `first_position`.
    """
    best: Float32 | None = None
    for layer, rows in queries.items():
        best = _highest(best, pool(attention(model.rotated(rows, first_position), keys[layer])))
    assert best is not None
    return np.asarray(best.mean(axis=0), np.float32)


def pflash(queries: dict[int, Float32], keys: dict[int, Float32]) -> Float32:
    """A score for each context token, float32 [S], from queries [N, H, D] and keys before RoPE, by layer."""
    best: Float32 | None = None
    for layer, rows in queries.items():
        best = _highest(best, attention(rows, keys[layer]))
    assert best is not None
    return pool(np.asarray(best.mean(axis=0), np.float32))


def attention(queries: Float32, keys: Float32) -> Float32:
    """Softmax of queries [N, H, D] over the context's keys [S, kv_heads, D], float32 [H, N, S]."""
    rows, heads, dim = queries.shape
    kv_heads = keys.shape[1]
    scaled = queries / np.float32(math.sqrt(dim))
    by_kv_head = scaled.transpose(1, 0, 2).reshape(kv_heads, heads // kv_heads * rows, dim)
    logits = (by_kv_head @ keys.transpose(1, 2, 0)).reshape(heads, rows, len(keys))
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), np.float32)


def pool(rows: Float32) -> Float32:
    """The average of POOL neighbours along the last axis, padded with zeros: float32 of the same shape."""
    half = POOL // 2
    padded = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(half + 1, half)])
    sums = np.cumsum(padded, axis=-1, dtype=np.float64)
    return np.asarray((sums[..., POOL:] - sums[..., :-POOL]) / POOL, np.float32)


def by_chunks(context: JointPrompt, scores: Float32, subject: Subject) -> Ranking:
    """The ranking by chunks of 32 tokens. A unit is kept if all its tokens are, and scores as their mean."""
    borders = np.arange(0, len(scores), CHUNK)
    chunks = np.add.reduceat(scores, borders) / np.diff([*borders, len(scores)])
    by_token = np.repeat(chunks, CHUNK)[: len(scores)]
    sums = np.concatenate([[0.0], np.cumsum(by_token, dtype=np.float64)])
    sizes = np.maximum(context.ends - context.starts, 1)
    order = np.argsort(-chunks, kind="stable")

    def keep(budget: int) -> list[KeptUnit]:
        kept = np.zeros(len(chunks), bool)
        kept[order[: math.ceil(budget / CHUNK)]] = True
        gone = np.concatenate([[0], np.cumsum(~np.repeat(kept, CHUNK)[: len(scores)])])
        whole = np.flatnonzero((gone[context.ends] == gone[context.starts]) & (context.ends > context.starts))
        return [_piece(subject, int(unit)) for unit in whole]

    return Ranking(np.asarray((sums[context.ends] - sums[context.starts]) / sizes, np.float32), keep)


def _piece(subject: Subject, unit: int) -> KeptUnit:
    _, found = subject.workspace.units[unit]
    return KeptUnit(unit, found.start_line, found.end_line, int(subject.unit_tokens[unit]))


def _highest(best: Float32 | None, rows: Float32) -> Float32:
    """The maximum of rows [H, N, S] over heads, and over the layers before."""
    highest = rows.max(axis=0)
    return np.asarray(highest if best is None else np.maximum(best, highest), np.float32)


def _batch(ids: Int32, first: int) -> Batch:
    return Batch(ids, np.arange(first, first + len(ids), dtype=np.int32), np.array([0, len(ids)]))


def methods(resources: Resources) -> Iterable[Method]:
    """SpecPrefill, pflash."""
    return Published(resources.drafter_file, rotated=True), Published(resources.drafter_file, rotated=False)
