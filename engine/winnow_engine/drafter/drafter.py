"""The drafter as the engine sees it: files in, cached arrays out; a question in, evidence by unit out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from winnow_cuda.cpu import CpuEncoder
from winnow_cuda.shapes import Batch, Encoded, Encoder, Float32, Int32, Int64
from winnow_engine.core import Cancellation
from winnow_engine.cores import physical_cores
from winnow_engine.drafter.profile import Arrays, Profile, QuestionStates
from winnow_engine.drafter.profiles import shipped_profile
from winnow_engine.drafter.segments import SEGMENT_TOKENS, Segment, batch_of, cut, pack, rows_of
from winnow_engine.drafter.template import EncodedQuestion, Template
from winnow_engine.drafter.weights import GgufTensors, load_weights, shape_of
from winnow_engine.llama.model import Model
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.gguf_header import read_header

_NULL_QUESTIONS = ("this", "something", "it does what it says")
_NULL_CODE = ("pass\n", "def f(x):\n    return x\n")


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as the drafter reads it: its path and the text of each unit, in order."""

    path: str
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileKeys:
    """What the drafter keeps of a file: tokens by unit (int32 [U]) and the profile's arrays."""

    unit_tokens: Int32
    arrays: Arrays


@dataclass(frozen=True, slots=True)
class CodeAtCursor:
    """The code a question is about, with the name of its language for the code fence."""

    text: str
    language: str


@dataclass(slots=True)
class _Pending:
    """A file whose segments are being encoded."""

    unit_tokens: Int32
    parts: list[Encoded] = field(default_factory=list)
    missing: int = 0


class Drafter:
    """A GGUF's first layers with the profile that turns them into scores. Safe to use from several threads."""

    def __init__(self, path: Path, profile: Profile | None = None, threads: int | None = None) -> None:
        """Load `path`. Raises ModelNotFoundError, ModelDamagedError, UnsupportedModelError or ProfileError."""
        header = read_header(path)
        tensors = GgufTensors(path, header)
        self.notice: str | None = None
        if profile is None:
            profile, self.notice = shipped_profile(tensors, shape_of(header, 1), header.block_count)
        self._profile, self._threads = profile, threads or physical_cores()
        self.vocabulary = Vocabulary(Model(path, vocabulary_only=True))
        self._template = Template(self.vocabulary)
        weights = load_weights(path, header, profile.layers, profile.merge)
        self._encoder: Encoder = CpuEncoder(weights, self._template.prefix)
        self.identity = _identity(tensors, profile)

    def count(self, text: str) -> int:
        """Tokens of `text`."""
        return len(self.vocabulary.tokenize(text))

    def encode(self, files: Iterable[FileText], cancellation: Cancellation) -> Iterator[FileKeys]:
        """The keys of each file, in order. A file's keys come as soon as its last segment is done.

        Segments of many files share a batch; one batch runs on each core, with a BLAS of one thread, so that
        nothing waits inside a batch. CancelledError ends all batches within a layer's time.
        """
        pending: dict[int, _Pending] = {}
        groups = pack(self._segments(files, pending))
        done = 0
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(self._threads) as pool:
            for group, encoded in _in_order(pool, groups, self._threads, self._encode_group, cancellation):
                for segment, rows in zip(group, rows_of(group), strict=True):
                    pending[segment.file].parts.append(_rows(encoded, rows))
                    pending[segment.file].missing -= len(segment.ids)
                while done in pending and pending[done].missing == 0:
                    yield self._finish(pending.pop(done))
                    done += 1
        while done in pending:
            yield self._finish(pending.pop(done))
            done += 1

    def score(
        self,
        arrays: Arrays,
        unit_offsets: Int64,
        question: str,
        code: CodeAtCursor | None = None,
        cancellation: Cancellation | None = None,
    ) -> dict[str, Float32]:
        """Evidence by name, float32 [U] each, for the units of a workspace: rows unit_offsets[u]:[u+1]."""
        states, nulls = self.question_states(question, code, cancellation)
        return self._profile.score(arrays, unit_offsets, states, nulls)

    def question_states(
        self, question: str, code: CodeAtCursor | None = None, cancellation: Cancellation | None = None
    ) -> tuple[QuestionStates, list[QuestionStates]]:
        """A question as the drafter sees it, and the null questions that a profile on its heads measures against."""
        check = (cancellation or Cancellation()).check
        nulls = self._nulls(code) if self._profile.taps else []
        asked = self._states(self._encoded_question(question, code), check)
        return asked, [self._states(null, check) for null in nulls]

    def _segments(self, files: Iterable[FileText], pending: dict[int, _Pending]) -> Iterator[Segment]:
        for index, file in enumerate(files):
            units = [self.vocabulary.tokenize(text) for text in file.units]
            counts = np.array([len(unit) for unit in units], np.int32)
            pending[index] = _Pending(counts, missing=int(counts.sum()))
            yield from cut(index, self._template.header(file.path), units)

    def _encode_group(self, group: list[Segment], cancellation: Cancellation) -> Encoded:
        batch = batch_of(group, first_position=len(self._template.prefix))
        return self._encoder.encode(batch, self._profile.taps, cancellation.check)

    def _finish(self, file: _Pending) -> FileKeys:
        offsets = np.cumsum([0, *file.unit_tokens])
        nothing = Batch(np.empty(0, np.int32), np.empty(0, np.int32), np.array([0]))
        parts = file.parts or [self._encoder.encode(nothing, self._profile.taps)]
        return FileKeys(file.unit_tokens, self._profile.keep(_joined(parts), offsets))

    def _encoded_question(self, question: str, code: CodeAtCursor | None) -> EncodedQuestion:
        if code is None:
            return self._template.question(question)
        return self._template.question_at(question, code.text, code.language)

    def _nulls(self, code: CodeAtCursor | None) -> Sequence[EncodedQuestion]:
        if code is None:
            return [self._template.question(text) for text in _NULL_QUESTIONS]
        return [self._template.question_at("Explain this code.", text, code.language) for text in _NULL_CODE]

    def _states(self, question: EncodedQuestion, check: Callable[[], None]) -> QuestionStates:
        # Behind the prefix, and as far from it as the last token of a full segment would be.
        first = len(self._template.prefix) + SEGMENT_TOKENS
        positions = np.arange(first, first + len(question.ids), dtype=np.int32)
        batch = Batch(question.ids, positions, np.array([0, len(question.ids)]))
        return QuestionStates(self._encoder.encode(batch, self._profile.taps, check), question.body)


def _in_order(
    pool: ThreadPoolExecutor,
    groups: Iterator[list[Segment]],
    ahead: int,
    work: Any,
    cancellation: Cancellation,
) -> Iterator[tuple[list[Segment], Encoded]]:
    """Map `work` over groups on the pool, at most `ahead` + 1 under way; leaving early waits for no new group."""
    queue: list[tuple[list[Segment], Future[Encoded]]] = []
    try:
        for group in groups:
            cancellation.check()
            queue.append((group, pool.submit(work, group, cancellation)))
            if len(queue) > ahead:
                first, future = queue.pop(0)
                yield first, future.result()
        for first, future in queue:
            yield first, future.result()
    finally:
        for _, future in queue:
            future.cancel()


def _rows(encoded: Encoded, rows: slice) -> Encoded:
    """Copies of some rows, so that the batch they came from can be freed."""

    def of(states: dict[int, Float32]) -> dict[int, Float32]:
        return {layer: value[rows].copy() for layer, value in states.items()}

    return Encoded(encoded.hidden[rows].copy(), of(encoded.queries), of(encoded.keys))


def _joined(parts: list[Encoded]) -> Encoded:
    def all_of(states: list[dict[int, NDArray[np.float32]]]) -> dict[int, Float32]:
        return {layer: np.concatenate([s[layer] for s in states]) for layer in states[0]}

    return Encoded(
        np.concatenate([p.hidden for p in parts]),
        all_of([p.queries for p in parts]),
        all_of([p.keys for p in parts]),
    )


def _identity(tensors: GgufTensors, profile: Profile) -> str:
    """Changes whenever stored arrays would: a hash of the layers as stored, and the profile's own (0.05 s)."""
    digest = hashlib.sha256(profile.identity.encode())
    for name in tensors.names(profile.layers):
        digest.update(tensors.stored(name).data)
    return digest.hexdigest()[:32]
