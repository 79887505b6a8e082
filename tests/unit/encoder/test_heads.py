"""Profiles on a drafter's own heads, with an encoder that makes keys and queries up."""

from dataclasses import replace

import numpy as np
import pytest

from winnow_cuda.shapes import Batch, Encoded
from winnow_engine.encoder.heads import HeadsProfile, ScoringHead, heads_of
from winnow_engine.encoder.profile import QuestionStates
from winnow_engine.errors import ProfileError

HEADS = [ScoringHead(0, 0, "all", 1.0), ScoringHead(0, 3, "body", 0.5), ScoringHead(2, 2, "peak", 1.0)]
OFFSETS = np.array([0, 40, 41, 41, 300])


class FakeEncoder:
    """Keys and queries of 64 columns and two KV heads that depend on the token alone, the keys behind a bias."""

    def __init__(self, bias: float) -> None:
        self.bias, self.calls = np.zeros(64, np.float32), 0
        self.bias[5] = bias

    def encode(self, batch: Batch, taps: frozenset[int], check: object) -> Encoded:
        self.calls += 1
        rows = np.random.default_rng(1).standard_normal((500, 4, 64), np.float32)[batch.ids]
        return Encoded(rows[:, 0], dict.fromkeys(taps, 3 * rows), dict.fromkeys(taps, rows[:, :2] + self.bias))


def batch_of(ids: np.ndarray) -> Batch:
    return Batch(ids.astype(np.int32), np.arange(len(ids), dtype=np.int32), np.array([0, len(ids)]))


def scores(bias: float) -> np.ndarray:
    encoder, profile = FakeEncoder(bias), HeadsProfile(HEADS, 2)
    read = profile.read(encoder, batch_of(np.arange(310)), np.array([[10, 310]], np.int32), lambda: None)
    asked, null = (
        QuestionStates(encoder.encode(batch_of(np.arange(a, b)), profile.taps, None), slice(1, 5))
        for a, b in ((400, 411), (450, 457))
    )
    arrays = profile.keep(read, np.zeros(1, np.int32), 4)
    return profile.score(arrays, OFFSETS, replace(asked, nulls=(null,)))["heads"]


def test_what_all_keys_have_in_common_changes_no_score() -> None:
    np.testing.assert_allclose(scores(158.0), scores(0.0), atol=0.05)


def test_int8_keys_take_a_byte_a_column_and_a_scale() -> None:
    encoder, profile = FakeEncoder(1.0), heads_of([{"layer": 0, "head": 1, "feature": "all", "weight": 1.0}], 4, 2)
    runs = np.array([[0, 3], [4, 6]], np.int32)
    for _ in range(2):
        tokens = profile.read(encoder, batch_of(np.arange(7)), runs, lambda: None).tokens
    assert {name: (rows.dtype.name, rows.shape) for name, rows in tokens.items()} == {
        "0.0": ("int8", (5, 64)),
        "0.0.scales": ("float16", (5,)),
    }
    assert encoder.calls == 3  # one for the reference tokens


@pytest.mark.parametrize(
    "entry",
    [
        {"head": 4},
        {"head": -1},
        {"layer": 0.5},
        {"weight": float("nan")},
        {"weight": "much"},
        {"feature": "most"},
        {"more": 1},
    ],
)
def test_heads_that_a_drafter_does_not_have_are_refused(entry: dict[str, object]) -> None:
    with pytest.raises(ProfileError):
        heads_of([{"layer": 0, "head": 1, "feature": "all", "weight": 1.0, **entry}], 4, 2)
