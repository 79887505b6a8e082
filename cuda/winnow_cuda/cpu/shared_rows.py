"""Rows of a batch that come out alike in every layer, so that one of them is enough.

A row sees the shared prefix and its own sequence up to itself. So where two sequences begin alike, as the headers of
files in one folder do, their rows are the same.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from winnow_cuda.shapes import Batch, Int64

Rows = Int64 | slice
"""Rows by number; `EVERY` takes an array as it is."""
EVERY = slice(None)


def shared_rows(batch: Batch) -> tuple[Rows, Rows]:
    """The rows of `batch` to compute, in ascending order, and for each row of `batch` its place among these.

    A sequence is compared with the one before it: files come in path order.
    """
    twins = np.arange(len(batch.ids))
    for before, sequence in pairwise(pairwise(batch.offsets.tolist())):
        length = _common_start(batch, before, sequence)
        twins[sequence[0] : sequence[0] + length] = twins[before[0] : before[0] + length]
    own = np.flatnonzero(twins == np.arange(len(twins)))
    return (EVERY, EVERY) if len(own) == len(twins) else (own, np.searchsorted(own, twins))


def _common_start(batch: Batch, first: tuple[int, int], second: tuple[int, int]) -> int:
    """The number of rows that two sequences have in common at their start."""
    length = min(first[1] - first[0], second[1] - second[0])
    one, other = (slice(start, start + length) for start, _ in (first, second))
    same = (batch.ids[one] == batch.ids[other]) & (batch.positions[one] == batch.positions[other])
    return length if same.all() else int(same.argmin())
