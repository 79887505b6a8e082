"""The keys of a workspace's units, where they lie: in mapped packs, and in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores
from winnow_engine.encoder.profile import QuestionStates, TwoLevelProfile
from winnow_engine.index.postings import NO_PLACE
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Scope

TOKENS_PER_BYTE, _USUAL_BYTES = 0.24, 100_000  # of code, and how many counted bytes tell as much


@dataclass(frozen=True)
class KeyBlock:
    """Keys that lie together: rows offsets[k]:offsets[k+1], int64 [K+1], of the arrays with a row per token.

    They are those of the workspace's unit units[k], int64 [K], or of one that is gone, NO_PLACE. The arrays of a pack
    are the same objects for every question.
    """

    units: NDArray[np.int64]
    offsets: NDArray[np.int64]
    arrays: Mapping[str, NDArray[Any]]

    @cached_property
    def live(self) -> NDArray[np.int64]:
        """The k whose units are there, int64 [N]."""
        return np.flatnonzero(self.units != NO_PLACE)

    def rows(self, name: str, chosen: NDArray[np.int64]) -> NDArray[Any]:
        """The rows of an array that belong to some k, in their order."""
        array = self.arrays[name]
        if len(array) == len(self.units):  # one row per unit
            return array[chosen]
        sizes = np.diff(self.offsets)[chosen]
        ends = np.cumsum(sizes)
        return array[np.repeat(self.offsets[chosen] - (ends - sizes), sizes) + np.arange(int(sizes.sum()))]


@dataclass(frozen=True)
class WorkspaceKeys:
    """The keys of a workspace's units, or of some: `unit_tokens`, int32 [U], is 0 without. Each is in one part."""

    unit_tokens: NDArray[np.int32]
    parts: tuple[KeyBlock, ...]
    missing_tokens: int

    @classmethod
    def of(cls, workspace: Workspace, parts: tuple[KeyBlock, ...]) -> WorkspaceKeys:
        """The keys in some parts, each unit's in one of them at most."""
        unit_tokens, there = np.zeros(len(workspace.units), np.int32), np.zeros(len(workspace.units), np.bool_)
        for part in parts:
            unit_tokens[part.units[part.live]] = np.diff(part.offsets)[part.live]
            there[part.units[part.live]] = True
        return cls(unit_tokens, parts, _missing_tokens(workspace, there, int(unit_tokens.sum(dtype=np.int64))))

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """The units that have keys, in order, int64 [K]."""
        return np.sort(np.concatenate([np.empty(0, np.int64), *(part.units[part.live] for part in self.parts)]))

    @cached_property
    def joined(self) -> KeyBlock:
        """All keys in one part, in the order of `units`: copied, unless they lie like that."""
        if len(self.parts) == 1 and np.array_equal(self.parts[0].units, self.units):
            return self.parts[0]
        order = np.argsort(np.concatenate([part.units[part.live] for part in self.parts]), kind="stable")
        sizes = np.concatenate([np.diff(part.offsets)[part.live] for part in self.parts])
        whole = KeyBlock(order, np.cumsum([0, *sizes]), {name: self._rows(name) for name in self.parts[0].arrays})
        arrays = {name: whole.rows(name, order) for name in whole.arrays}
        return KeyBlock(self.units, np.cumsum([0, *sizes[order]]), arrays)

    @property
    def tokens(self) -> int:
        """The tokens of the units that have keys."""
        return int(self.unit_tokens.sum(dtype=np.int64))

    def units_in(self, scope: Scope | None) -> NDArray[np.int64]:
        """The units that have keys, int64 [N]: those that a question is limited to, if it is."""
        return self.units if scope is None else np.intersect1d(self.units, scope.units)

    def tokens_of(self, units: NDArray[np.int64]) -> NDArray[np.int32]:
        """`unit_tokens` of some units, 0 for all others, int32 [U]."""
        tokens = np.zeros_like(self.unit_tokens)
        tokens[units] = self.unit_tokens[units]
        return tokens

    def by_unit(self, scores: Mapping[str, Scores]) -> dict[str, Scores]:
        """Scores of `units`, float32 [K], as those of all units, float32 [U]; NaN for the others."""
        if not self.missing_tokens:
            return dict(scores)
        return self.scattered([(self.joined, scores)])

    def scattered(self, scored: Iterable[tuple[KeyBlock, Mapping[str, Scores]]]) -> dict[str, Scores]:
        """Scores of each part's units, float32 [.., K], as those of all units, float32 [.., U]; NaN without keys."""
        found: dict[str, Scores] = {}
        for part, scores in scored:
            for name, values in scores.items():
                if name not in found:
                    found[name] = np.full((*values.shape[:-1], len(self.unit_tokens)), np.nan, np.float32)
                found[name][..., part.units[part.live]] = values[..., part.live]
        return found

    def scored(self, units: NDArray[np.int64], profile: TwoLevelProfile, states: QuestionStates) -> dict[str, Scores]:
        """A profile's scores of units that have keys, by name, float32 [N] each."""
        found: dict[str, Scores] = {}
        part_of, row_of = self._rows_of_units
        for number, part in enumerate(self.parts):
            places = np.flatnonzero(part_of[units] == number)
            if len(places):
                rows = row_of[units[places]]
                for name, values in profile.score_units(part.arrays, part.offsets, rows, states).items():
                    found.setdefault(name, np.empty(len(units), np.float32))[places] = values
        return found

    @cached_property
    def _rows_of_units(self) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Of each unit, the part that has it, int8 [U], and its k in it, int64 [U]; -1 without keys."""
        part_of = np.full(len(self.unit_tokens), NO_PLACE, np.int8)
        row_of = np.full(len(self.unit_tokens), NO_PLACE, np.int64)
        for number, part in enumerate(self.parts):
            part_of[part.units[part.live]], row_of[part.units[part.live]] = number, part.live
        return part_of, row_of

    def _rows(self, name: str) -> NDArray[Any]:
        return np.concatenate([part.rows(name, part.live) for part in self.parts])


def _missing_tokens(workspace: Workspace, there: NDArray[np.bool_], tokens: int) -> int:
    """About how many tokens the units without keys have, by their bytes; at least 1 if there are any."""
    if there.all():
        return 0
    sizes = workspace.unit_bytes
    known = int(sizes[there].sum())
    per_byte = (tokens + TOKENS_PER_BYTE * _USUAL_BYTES) / (known + _USUAL_BYTES)
    return max(round((int(sizes.sum()) - known) * per_byte), 1)
