"""The one interface behind which a drafter scores units, whatever its kind: `adapter` or `heads`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.shapes import Encoded, Float32, Int64
from winnow_engine.drafter.weights import Merge

Arrays = Mapping[str, NDArray[Any]]
"""What scoring needs of a file, by name; every array has a row a token, or a row a unit."""


@dataclass(frozen=True, slots=True)
class QuestionStates:
    """A question as the drafter's layers see it; rows `body` hold what the user wrote or points at."""

    encoded: Encoded
    body: slice


class Profile(Protocol):
    """How a drafter's hidden states become scores. `identity` changes whenever stored arrays would."""

    identity: str
    layers: int
    taps: frozenset[int]

    @property
    def merge(self) -> Merge:
        """The update of the drafter's matrices this profile was trained with."""

    def keep(self, encoded: Encoded, unit_offsets: Int64) -> Arrays:
        """What to store of one file: `encoded` has its unit tokens, unit u = rows unit_offsets[u]:[u+1]."""

    def score(
        self, arrays: Arrays, unit_offsets: Int64, question: QuestionStates, nulls: Sequence[QuestionStates]
    ) -> dict[str, Float32]:
        """Evidence by name, float32 [U] each, higher is more relevant, over a whole workspace's arrays.

        `nulls` are questions that ask for nothing, for profiles that measure against them.
        """


def concatenate(files: Sequence[Arrays]) -> dict[str, NDArray[Any]]:
    """The arrays of many files as those of one workspace."""
    return {name: np.concatenate([arrays[name] for arrays in files]) for name in (files[0] if files else ())}
