"""Cutting a file's tokens into segments, and packing segments of many files into batches.

A file is encoded alone, in segments of at most 2,048 tokens, each behind the shared prefix and the file's header,
and cut at unit borders; only a unit longer than a segment is cut inside.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from winnow_cuda.shapes import Batch, Int32, Int64

S = TypeVar("S", bound=Sized)
SEGMENT_TOKENS = 2048
_LEAST_TOKENS = 512  # of a group at the end; smaller ones cost BLAS more than they spare


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows start:stop of file `file`'s tokens, to be encoded behind `header` as `ids`."""

    file: int
    start: int
    stop: int
    header: Int32
    ids: Int32
    runs: Int32  # [R, 2], counted from `start`: rows runs[r, 0]:runs[r, 1] belong to unit units[r]
    units: Int32  # [R]

    def __len__(self) -> int:
        return len(self.header) + len(self.ids)


def cut(file: int, header: Int32, units: list[Int32]) -> list[Segment]:
    """The segments of one file, whose units' tokens are `units`; none for a file without tokens."""
    ids = np.concatenate(units) if units else np.empty(0, np.int32)
    return cut_ids(file, header, ids, np.array([len(unit) for unit in units], np.int32))


def cut_ids(file: int, header: Int32, ids: Int32, counts: Int32) -> list[Segment]:
    """As `cut`; `ids` are the tokens of all units in turn, `counts` (int32 [U]) how many each unit has."""
    header = header[: SEGMENT_TOKENS // 2]  # a path of a thousand tokens must not crowd out the code
    borders = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    room = SEGMENT_TOKENS - len(header)
    segments, start = [], 0
    while start < len(ids):
        last_border = int(borders[np.searchsorted(borders, start + room, side="right") - 1])
        stop = last_border if last_border > start else min(len(ids), start + room)
        segments.append(Segment(file, start, stop, header, ids[start:stop], *_runs(borders, start, stop)))
        start = stop
    return segments


def _runs(borders: Int64, start: int, stop: int) -> tuple[Int32, Int32]:
    """The units with tokens in start:stop, and each one's range there, counted from `start`."""
    cuts = np.clip(borders, start, stop) - start
    units = np.flatnonzero(np.diff(cuts))
    return np.stack([cuts[units], cuts[units + 1]], axis=1).astype(np.int32), units.astype(np.int32)


def pack(segments: Iterable[S], batch_tokens: int) -> Iterator[list[S]]:
    """Groups of consecutive segments of at most `batch_tokens` tokens in all (no less than SEGMENT_TOKENS)."""
    group: list[S] = []
    for segment in segments:
        if group and sum(map(len, group)) + len(segment) > batch_tokens:
            yield group
            group = []
        group.append(segment)
    if group:
        yield group


def evened(groups: Iterable[list[Segment]], cores: int) -> Iterator[list[Segment]]:
    """The same segments for `cores` that take one group after the other: the last groups are ever smaller."""
    held: deque[list[Segment]] = deque()
    for group in groups:
        held.append(group)
        if len(held) > 2 * cores:
            yield held.popleft()
    last = sorted((segment for group in held for segment in group), key=len, reverse=True)
    yield from _ever_smaller(last, cores)


def _ever_smaller(segments: list[Segment], cores: int) -> Iterator[list[Segment]]:
    """Groups of about half a core's share of what is left, but not below _LEAST_TOKENS."""
    left = sum(map(len, segments))
    group: list[Segment] = []
    size = 0
    for segment in segments:
        if group and size + len(segment) > max(_LEAST_TOKENS, left // (2 * cores)):
            yield group
            left, group, size = left - size, [], 0
        group.append(segment)
        size += len(segment)
    if group:
        yield group


def batch_of(group: list[Segment], first_position: int) -> Batch:
    """The segments as packed sequences, header and ids of each. Positions count from `first_position` in each."""
    lengths = [len(segment) for segment in group]
    return Batch(
        ids=np.concatenate([part for segment in group for part in (segment.header, segment.ids)]),
        positions=np.concatenate([np.arange(n, dtype=np.int32) + first_position for n in lengths]),
        offsets=np.cumsum([0, *lengths]),
    )


def runs_of(group: list[Segment]) -> Int32:
    """The runs of all segments of a packed batch, in rows of the batch."""
    ends = np.cumsum([len(segment) for segment in group])
    return np.concatenate([s.runs + np.int32(end - len(s.ids)) for end, s in zip(ends, group, strict=True)])


def question_batch(questions: Sequence[Int32], prefix_tokens: int) -> Batch:
    """Token ids of questions as a batch. Each is placed where the last token of a full segment would be."""
    first, ends = prefix_tokens + SEGMENT_TOKENS, np.cumsum([0, *(len(ids) for ids in questions)])
    positions = [np.arange(first, first + len(ids), dtype=np.int32) for ids in questions]
    return Batch(np.concatenate(questions), np.concatenate(positions), ends)
