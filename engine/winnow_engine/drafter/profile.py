"""The one interface behind which a drafter scores units, whatever its kind: `adapter` or `heads`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.shapes import Batch, Encoded, Encoder, Float32, Int32, Int64, Readout, Scorer
from winnow_engine.drafter.weights import Merge

Arrays = Mapping[str, NDArray[Any]]
"""What scoring needs of a file, by name; every array has a row a token, or a row a unit."""


@dataclass(frozen=True, slots=True)
class QuestionStates:
    """A question as the drafter's layers see it; rows `body` hold what the user wrote or points at."""

    encoded: Encoded
    body: slice


@dataclass(frozen=True, slots=True)
class Read:
    """What a profile takes of encoded runs of tokens, in order: arrays with a row a token, and with a row a run."""

    tokens: Arrays
    runs: Arrays

    def part(self, tokens: slice, runs: slice) -> Read:
        """Copies of some rows, so that the batch they came from can be freed."""
        return Read(
            {name: rows[tokens].copy() for name, rows in self.tokens.items()},
            {name: rows[runs].copy() for name, rows in self.runs.items()},
        )


class Profile(Protocol):
    """How a drafter's hidden states become scores. `identity` changes whenever stored arrays would.

    `taps` are the layers whose queries and keys it needs of a question.
    """

    identity: str
    layers: int
    taps: frozenset[int]

    @property
    def readout(self) -> Readout | None:
        """What reads keys off the last hidden states, if it was trained."""

    @property
    def merge(self) -> Merge:
        """The update of the drafter's matrices this profile was trained with."""

    def read(self, encoder: Encoder, batch: Batch, runs: Int32, check: Callable[[], None]) -> Read:
        """Encode `batch` and read its rows runs[r, 0]:runs[r, 1], int32 [R, 2]; what `check` raises ends the pass."""

    def keep(self, read: Read, units: Int32, count: int) -> Arrays:
        """What to store of one file of `count` units: run r holds tokens of unit units[r], int32 [R] in order."""

    def score(
        self,
        arrays: Arrays,
        unit_offsets: Int64,
        question: QuestionStates,
        nulls: Sequence[QuestionStates],
        scorer: Scorer,
    ) -> dict[str, Float32]:
        """Evidence by name, float32 [U] each, higher is more relevant, over a whole workspace's arrays.

        `nulls` are questions that ask for nothing, for profiles that measure against them.
        """


def joined(parts: Sequence[Read]) -> Read:
    """What several calls read as if it had been one."""
    return Read(concatenate([part.tokens for part in parts]), concatenate([part.runs for part in parts]))


def concatenate(files: Sequence[Arrays]) -> dict[str, NDArray[Any]]:
    """The arrays of many files as those of one workspace."""
    return {name: np.concatenate([arrays[name] for arrays in files]) for name in (files[0] if files else ())}
