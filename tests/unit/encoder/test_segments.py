from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.encoder.segments import SEGMENT_TOKENS, batch_of, cut, pack, runs_of

HEADER = np.array([1, 2, 3], np.int32)


def units(lengths: list[int]) -> list[np.ndarray]:
    ends = np.cumsum([0, *lengths])
    return [np.arange(a, b, dtype=np.int32) for a, b in pairwise(ends)]


@given(st.lists(st.integers(0, 5000), max_size=20), st.integers(0, 5000))
def test_segments_tile_the_file_within_the_limit(lengths: list[int], header: int) -> None:
    segments = cut(7, np.zeros(header, np.int32), units(lengths))
    assert all(len(s.ids) > 0 and len(s) <= SEGMENT_TOKENS for s in segments)
    joined = np.concatenate([np.empty(0, np.int32), *(s.ids for s in segments)])
    np.testing.assert_array_equal(joined, np.arange(sum(lengths)))


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=40))
def test_packed_rows_hold_the_segments_they_say(lengths: list[int]) -> None:
    segments = [s for file, n in enumerate(lengths) for s in cut(file, HEADER, units([n]))]
    groups = list(pack(segments, SEGMENT_TOKENS))
    assert [s for group in groups for s in group] == segments
    for group in groups:
        batch = batch_of(group, first_position=11)
        assert len(batch.ids) <= SEGMENT_TOKENS
        assert batch.offsets[-1] == len(batch.ids) == len(batch.positions)
        assert all(batch.positions[start] == 11 for start in batch.offsets[:-1])
        held = [batch.ids[start:stop] for start, stop in runs_of(group)]
        np.testing.assert_array_equal(np.concatenate(held), np.concatenate([s.ids for s in group]))
