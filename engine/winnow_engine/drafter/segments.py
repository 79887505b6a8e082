"""Cutting a file's tokens into segments, and packing segments of many files into batches.

A file is encoded alone, in segments of at most 2,048 tokens, each behind the shared prefix and the file's header,
and cut at unit borders; only a unit longer than a segment is cut inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from winnow_cuda.shapes import Batch, Int32

SEGMENT_TOKENS = 2048
# One batch is one full segment, or many short ones: enough rows to keep BLAS at speed, small enough to cancel.
BATCH_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows start:stop of file `file`'s unit tokens, to be encoded behind `header` (int32) as `ids` (int32)."""

    file: int
    start: int
    stop: int
    header: Int32
    ids: Int32

    def __len__(self) -> int:
        return len(self.header) + len(self.ids)


def cut(file: int, header: Int32, units: list[Int32]) -> list[Segment]:
    """The segments of one file, whose units' tokens are `units`; none for a file without tokens."""
    header = header[: SEGMENT_TOKENS // 2]  # a path of a thousand tokens must not crowd out the code
    ids = np.concatenate(units) if units else np.empty(0, np.int32)
    borders = np.cumsum([0, *(len(unit) for unit in units)])
    room = SEGMENT_TOKENS - len(header)
    segments, start = [], 0
    while start < len(ids):
        last_border = int(borders[np.searchsorted(borders, start + room, side="right") - 1])
        stop = last_border if last_border > start else min(len(ids), start + room)
        segments.append(Segment(file, start, stop, header, ids[start:stop]))
        start = stop
    return segments


def pack(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Groups of consecutive segments of at most BATCH_TOKENS tokens together."""
    group: list[Segment] = []
    for segment in segments:
        if group and sum(map(len, group)) + len(segment) > BATCH_TOKENS:
            yield group
            group = []
        group.append(segment)
    if group:
        yield group


def batch_of(group: list[Segment], first_position: int) -> Batch:
    """The packed sequences header + ids of each segment, positions counted from `first_position` in each."""
    lengths = [len(segment) for segment in group]
    return Batch(
        ids=np.concatenate([part for segment in group for part in (segment.header, segment.ids)]),
        positions=np.concatenate([np.arange(n, dtype=np.int32) + first_position for n in lengths]),
        offsets=np.cumsum([0, *lengths]),
    )


def rows_of(group: list[Segment]) -> list[slice]:
    """For each segment of a packed batch, the rows that hold its unit tokens."""
    ends = np.cumsum([len(segment) for segment in group])
    return [slice(int(end) - len(s.ids), int(end)) for end, s in zip(ends, group, strict=True)]
