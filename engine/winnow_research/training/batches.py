"""What one training step sees: segments of several projects, and questions that units in them answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from winnow_cuda.shapes import Int32, Int64
from winnow_engine.encoder.segments import Segment, cut
from winnow_research.training.dataset import Dataset

_TURNS = {"asked": 6, "describe": 2, "cursor": 2, "multi": 2}


@dataclass(frozen=True)
class Mixture:
    """What a batch is made of. `tokens` counts its segments' tokens; the files of a chunk belong to one project."""

    tokens: int = 65_536
    chunk_tokens: int = 32_768
    questions: int = 192
    code_questions: int = 56
    """The most questions with code at the cursor, which are five times as long as the others."""
    turns: Mapping[str, int] = field(default_factory=lambda: dict(_TURNS))
    """How many questions of a kind each round takes until a batch is full; one if the kind is not named.

    Naming `written` chooses `WrittenEpoch`.
    """
    bare_share: float = 0.6
    """The share of quoted units that are shown without the quoted lines, so that those questions can be asked."""
    together: float = 0.9
    """How often the next file of a chunk is one that a question links to those before it, if there is one."""


@dataclass(frozen=True)
class TrainingBatch:
    """Columns are units, or parts of units that are cut by a segment's end. Rows are questions."""

    data: Dataset
    bare: NDArray[np.bool_]  # [units of the data]: whether a unit is shown without the lines that questions quote
    segments: tuple[Segment, ...]
    column_tokens: Int64  # [columns]: tokens, in the order of the segments' rows
    unit_of: Int64  # [columns]
    asked: tuple[int, ...]  # questions of the data
    positives: NDArray[np.int64]  # [2, pairs]: (row, column) of what answers
    ignored: NDArray[np.int64]  # [2, pairs]: (row, column) of what neither answers nor misleads

    @property
    def questions(self) -> list[Int32]:
        """The tokens of the questions."""
        return [self.data.questions[question] for question in self.asked]


class Epoch:
    """All files once, in random chunks: `len(epoch)` batches, which can be built in any order.

    Equal data, mixtures, seeds and numbers give equal batches.
    """

    def __init__(self, data: Dataset, mixture: Mixture, seed: int, number: int) -> None:
        data.require_files()
        self._data, self._mixture, self._seed = data, mixture, (seed, number)
        rng = np.random.default_rng(self._seed)
        self._bare = (np.diff(data.bare.offsets) > 0) & (rng.random(len(data.units)) < mixture.bare_share)
        self._asked = questions_by_unit(data, self._bare)
        self._groups = [group for group in grouped(_chunks(data, mixture, rng), mixture) if self._askable(group)]

    def __len__(self) -> int:
        return len(self._groups)

    def batch(self, index: int) -> TrainingBatch:
        """Build a batch, which has at least one question."""
        data, rng = self._data, np.random.default_rng([*self._seed, index])
        segments, columns, unit_of = segments_of(data, self._groups[index], self._bare)
        found = (question for unit in np.unique(unit_of).tolist() for question in self._asked.get(unit, ()))
        questions = choose(data, list(dict.fromkeys(found)), self._mixture, rng)
        return batch_of(data, self._bare, segments, columns, unit_of, questions)

    def _askable(self, files: Sequence[int]) -> bool:
        starts = self._data.file_units
        return any(unit in self._asked for file in files for unit in range(int(starts[file]), int(starts[file + 1])))


def grouped(chunks: Iterable[tuple[list[int], int]], mixture: Mixture) -> Iterator[list[int]]:
    """The chunks of each batch, joined. What is left at the end is less than a batch, and dropped."""
    group: list[int] = []
    tokens = 0
    for chunk, size in chunks:
        group += chunk
        tokens += size
        if tokens >= mixture.tokens:
            yield group
            group, tokens = [], 0


def _chunks(data: Dataset, mixture: Mixture, rng: Generator) -> list[tuple[list[int], int]]:
    """Chunks in random order: files of one project, of about `chunk_tokens` tokens together, with their tokens."""
    sizes = np.diff(data.units.offsets[data.file_units]).tolist()
    by_project: dict[int, list[int]] = defaultdict(list)
    for file in rng.permutation(len(data.headers)).tolist():
        by_project[int(data.project_of[file])].append(file)
    links = _linked_files(data)
    chunks = [
        (chunk, sum(sizes[file] for file in chunk))
        for files in by_project.values()
        for chunk in _cut_up(files, sizes, links, mixture, rng)
    ]
    return [chunks[index] for index in rng.permutation(len(chunks))]


def _cut_up(
    files: list[int], sizes: Sequence[int], links: Mapping[int, Counter[int]], mixture: Mixture, rng: Generator
) -> Iterator[list[int]]:
    """All files, in chunks. Linked files come together: the more links, the likelier."""
    left = dict.fromkeys(files)
    while left:
        chunk: list[int] = []
        near: Counter[int] = Counter()
        tokens = 0
        while left and tokens < mixture.chunk_tokens:
            file = next(iter(left))
            if near and rng.random() < mixture.together:
                file = int(rng.choice(list(near), p=np.array(list(near.values())) / near.total()))
            del left[file]
            near.pop(file, None)
            near.update({other: count for other, count in links.get(file, Counter[int]()).items() if other in left})
            chunk.append(file)
            tokens += sizes[file]
        yield chunk


def _linked_files(data: Dataset) -> dict[int, Counter[int]]:
    """By file, the other files with which some question needs it, with the number of these questions."""
    counts = np.diff(data.golds.offsets)
    asked = np.flatnonzero(data.asked_at >= 0)
    units = np.concatenate([data.golds.values, data.asked_at[asked]])
    questions = np.concatenate([np.repeat(np.arange(len(counts)), counts), asked])
    pairs = np.unique(np.stack([questions, np.searchsorted(data.file_units, units, "right") - 1]), axis=1)
    needed: dict[int, list[int]] = defaultdict(list)
    for question, file in pairs.T.tolist():
        needed[question].append(file)
    links: dict[int, Counter[int]] = defaultdict(Counter)
    for files in needed.values():
        for file in files if len(files) > 1 else ():
            links[file].update(other for other in files if other != file)
    return links


def questions_by_unit(data: Dataset, bare: NDArray[np.bool_]) -> dict[int, list[int]]:
    """By unit, the questions it answers that can be asked. If a question quotes, all its golds must be shown bare."""
    asked: dict[int, list[int]] = defaultdict(list)
    for question in range(len(data.questions)):
        golds = data.golds[question]
        if not data.quotes[question] or bare[golds].all():
            for gold in golds.tolist():
                asked[gold].append(question)
    return asked


def segments_of(data: Dataset, files: Sequence[int], bare: NDArray[np.bool_]) -> tuple[list[Segment], Int64, Int64]:
    """The segments of the files, and the tokens and the unit of each column."""
    segments: list[Segment] = []
    lengths: list[int] = []
    units: list[int] = []
    for file in files:
        first, last = int(data.file_units[file]), int(data.file_units[file + 1])
        tokens = [data.bare[unit] if bare[unit] else data.units[unit] for unit in range(first, last)]
        ends = np.cumsum([0, *map(len, tokens)])
        for segment in cut(file, data.headers[file], tokens):
            inside = np.minimum(ends[1:], segment.stop) - np.maximum(ends[:-1], segment.start)
            shown = np.flatnonzero(inside > 0)
            segments.append(segment)
            lengths += inside[shown].tolist()
            units += (shown + first).tolist()
    return segments, np.array(lengths, np.int64), np.array(units, np.int64)


def choose(data: Dataset, candidates: list[int], mixture: Mixture, rng: Generator) -> list[int]:
    """At most as many questions as the mixture allows. Kinds take turns."""
    queues: dict[int, list[int]] = defaultdict(list)
    code_left = mixture.code_questions
    for index in rng.permutation(len(candidates)).tolist():
        question = candidates[index]
        code = bool(data.asked_at[question] >= 0)
        if not code or code_left:
            code_left -= code
            queues[int(data.kind_of[question])].append(question)
    chosen: list[int] = []
    while any(queues.values()) and len(chosen) < mixture.questions:
        for kind, queue in queues.items():
            turns = mixture.turns.get(data.kinds[kind], 1)
            chosen += queue[:turns]
            del queue[:turns]
    return chosen[: mixture.questions]


def batch_of(
    data: Dataset,
    bare: NDArray[np.bool_],
    segments: Iterable[Segment],
    column_tokens: Int64,
    unit_of: Int64,
    questions: list[int],
) -> TrainingBatch:
    """The batch that asks these questions about segments, whose columns belong to the units `unit_of`."""
    pairs = _pairs(data, questions, unit_of)
    return TrainingBatch(data, bare, tuple(segments), column_tokens, unit_of, tuple(questions), *pairs)


def _pairs(data: Dataset, questions: list[int], unit_of: Int64) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The (row, column) pairs that answer, and those to ignore: copies of answers, and the unit asked from."""
    twins = data.twins[unit_of]
    positives, ignored = [], []
    for row, question in enumerate(questions):
        golds = data.golds[question]
        answers = np.isin(unit_of, golds)
        aside = (np.isin(twins, data.twins[golds]) | (unit_of == data.asked_at[question])) & ~answers
        positives.append(_row(row, answers))
        ignored.append(_row(row, aside))
    nothing = np.empty((2, 0), np.int64)
    return np.concatenate([nothing, *positives], 1), np.concatenate([nothing, *ignored], 1)


def _row(row: int, columns: NDArray[np.bool_]) -> NDArray[np.int64]:
    found = np.flatnonzero(columns)
    return np.stack([np.full(len(found), row), found]).astype(np.int64)
