"""The interface of a drafter's profile, which scores units: with a trained adapter or with attention heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.shapes import Batch, Encoded, Encoder, Float32, Int32, Int64, Readout
from winnow_engine.encoder.weights import Merge

Arrays = Mapping[str, NDArray[Any]]
"""The arrays by which a file is scored, by name. Each has one row per token, or one per unit."""


@dataclass(frozen=True, slots=True)
class QuestionStates:
    """A question as the drafter's layers see it; rows `body` hold what the user wrote or points at.

    `nulls` ask for nothing, to compare with: a profile with `taps` needs them.
    """

    encoded: Encoded
    body: slice
    nulls: tuple[QuestionStates, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadArrays:
    """Arrays that a profile reads from encoded runs of tokens: with one row per token, and with one per run."""

    tokens: Arrays
    runs: Arrays

    def part(self, tokens: slice, runs: slice) -> ReadArrays:
        """Some rows. They are views: the batch they came from is freed once `joined` has copied all of them."""
        return ReadArrays(
            {name: rows[tokens] for name, rows in self.tokens.items()},
            {name: rows[runs] for name, rows in self.runs.items()},
        )


class Profile(Protocol):
    """Turns hidden states into scores; `taps` are layers it reads. `identity` changes whenever stored arrays would."""

    identity: str
    layers: int
    taps: frozenset[int]

    @property
    def readout(self) -> Readout | None:
        """The trained heads that turn the last hidden states into keys, if there are any."""

    @property
    def merge(self) -> Merge:
        """The update of the drafter's matrices this profile was trained with."""

    def read(self, encoder: Encoder, batch: Batch, runs: Int32, check: Callable[[], None]) -> ReadArrays:
        """Encode `batch` and read its rows runs[r, 0]:runs[r, 1], int32 [R, 2]. What `check` raises ends the pass."""

    def keep(self, read: ReadArrays, units: Int32, count: int) -> Arrays:
        """The arrays to store of a file of `count` units. Run r holds tokens of unit units[r] (int32 [R], in order)."""

    def score(self, arrays: Arrays, unit_offsets: Int64, question: QuestionStates) -> dict[str, Float32]:
        """Scores by name, float32 [U] each, higher is more relevant."""


@runtime_checkable
class TwoLevelProfile(Profile, Protocol):
    """A profile that scores all units of a workspace roughly at little cost, and can score just some of them."""

    def score_coarsely(
        self, arrays: Arrays, unit_offsets: Int64, questions: Sequence[QuestionStates]
    ) -> dict[str, Float32]:
        """Some of the scores of all units for N questions: float32 [N, U] by name, to float32's precision."""

    def score_units(
        self, arrays: Arrays, unit_offsets: Int64, units: Int64, question: QuestionStates
    ) -> dict[str, Float32]:
        """The scores of units int64 [C]: float32 [C] by name."""


def joined(parts: Sequence[ReadArrays]) -> ReadArrays:
    """The results of several calls as if they came from one."""
    return ReadArrays(join_arrays([part.tokens for part in parts]), join_arrays([part.runs for part in parts]))


def join_arrays(files: Sequence[Arrays]) -> dict[str, NDArray[Any]]:
    """The arrays of many files as those of one workspace."""
    return {name: np.concatenate([arrays[name] for arrays in files]) for name in (files[0] if files else ())}
