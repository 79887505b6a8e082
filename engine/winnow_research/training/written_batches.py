"""Batches around hand-written questions, each asked only where all its golds are shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from winnow_research.training.batches import (
    Mixture,
    TrainingBatch,
    batch_of,
    choose,
    grouped,
    questions_by_unit,
    segments_of,
)
from winnow_research.training.dataset import Dataset

_KINDS = ("written", "translated")
_BARE_SHARE = 0.2  # of the golds' units, instead of the mixture's
_GOLDS_SHARE = 0.6  # the most of a chunk's tokens, unless one question needs more


class WrittenEpoch:
    """All questions of `_KINDS`, in chunks that show their golds: `len(epoch)` batches, built in any order.

    Equal data, mixtures, seeds and numbers give equal batches.
    """

    def __init__(self, data: Dataset, mixture: Mixture, seed: int, number: int) -> None:
        data.require_files()
        self._data, self._mixture, self._seed = data, mixture, (seed, number)
        rng = np.random.default_rng(self._seed)
        kinds = [number for number, kind in enumerate(data.kinds) if kind in _KINDS]
        golds = {question: data.golds[question] for question in np.flatnonzero(np.isin(data.kind_of, kinds)).tolist()}
        share = np.full(len(data.units), mixture.bare_share)
        share[[gold for units in golds.values() for gold in units]] = _BARE_SHARE
        self._bare = (np.diff(data.bare.offsets) > 0) & (rng.random(len(data.units)) < share)
        self._asked = questions_by_unit(data, self._bare)
        self._segments, self._column_tokens, self._unit_of = segments_of(data, range(len(data.headers)), self._bare)
        self._segment_of = np.repeat(np.arange(len(self._segments)), [len(one.units) for one in self._segments])
        self._file_of = np.array([segment.file for segment in self._segments])
        self._tokens = np.array([len(segment) for segment in self._segments])
        holding = {question: self._segment_of[np.isin(self._unit_of, units)] for question, units in golds.items()}
        self._needed = {question: frozenset(segments.tolist()) for question, segments in holding.items()}
        self._groups = list(grouped(self._chunks(rng), mixture))

    def __len__(self) -> int:
        return len(self._groups)

    def batch(self, index: int) -> TrainingBatch:
        """Build a batch, which has at least one question."""
        group = sorted(set(self._groups[index]))
        columns = np.flatnonzero(np.isin(self._segment_of, group))
        unit_of = self._unit_of[columns]
        found = dict.fromkeys(one for unit in np.unique(unit_of).tolist() for one in self._asked.get(unit, ()))
        questions = self._chosen(found, set(group), np.random.default_rng([*self._seed, index]))
        segments = [self._segments[number] for number in group]
        return batch_of(self._data, self._bare, segments, self._column_tokens[columns], unit_of, questions)

    def _chosen(self, found: Collection[int], group: set[int], rng: Generator) -> list[int]:
        """One turn of each of `_KINDS`, and as many questions of the others as written ones."""
        data, turns = self._data, self._mixture.turns
        whole = [question for question in found if self._needed.get(question, group) <= group]
        by_kind = {kind: [one for one in whole if data.kinds[data.kind_of[one]] == kind] for kind in _KINDS}
        written, translated = (rng.permutation(by_kind[kind])[: turns.get(kind, 1)].tolist() for kind in _KINDS)
        count = max(1, len(written))
        mixture = replace(self._mixture, questions=count, code_questions=max(1, count // 3))
        return written + translated + choose(data, [one for one in found if one not in self._needed], mixture, rng)

    def _chunks(self, rng: Generator) -> list[tuple[list[int], int]]:
        """Chunks in random order: segments of one project, with their tokens."""
        chunks = [self._filled(core, rng) for core in self._cores(rng)]
        return [chunks[index] for index in rng.permutation(len(chunks))]

    def _cores(self, rng: Generator) -> list[set[int]]:
        """The segments with which each chunk begins: those that hold all golds of some questions about one project."""
        needs = list(dict.fromkeys(self._needed.values()))
        cores: dict[int, list[set[int]]] = defaultdict(list)
        for index in rng.permutation(len(needs)).tolist():
            of_project = cores[int(self._data.project_of[self._file_of[min(needs[index])]])]
            most = _GOLDS_SHARE * self._mixture.chunk_tokens
            core = next((one for one in of_project if self._size(one | needs[index]) <= most), None)
            if core is None:
                of_project.append(core := set())
            core |= needs[index]
        return [core for of_project in cores.values() for core in of_project]

    def _filled(self, core: set[int], rng: Generator) -> tuple[list[int], int]:
        """A chunk: half of the room beside its core is for segments of the same files, the rest for other files."""
        chunk, total, most = set(core), self._size(core), self._mixture.chunk_tokens
        files, project_of = self._file_of[list(core)], self._data.project_of[self._file_of]
        near = rng.permutation(np.flatnonzero(np.isin(self._file_of, files)))
        project = np.flatnonzero(project_of == self._data.project_of[files[0]])
        others = project[np.argsort(rng.permutation(len(self._data.headers))[self._file_of[project]], kind="stable")]
        for limit, segments in (((total + most) / 2, near), (most, others)):
            for segment in segments.tolist():
                if total < limit and segment not in chunk:
                    chunk.add(segment)
                    total += int(self._tokens[segment])
        return sorted(chunk), total

    def _size(self, segments: Collection[int]) -> int:
        return int(self._tokens[list(segments)].sum())
