"""The training data as arrays: files cut into units, questions, and which units answer which question."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.shapes import Int32, Int64
from winnow_research.errors import TrainingError

_NAMES = ("kinds", "languages", "projects")


@dataclass(frozen=True)
class Rows:
    """Rows of unequal length: row i is values[offsets[i]:offsets[i+1]], offsets int64 [N+1]."""

    values: NDArray[Any]
    offsets: Int64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]


def rows(parts: Iterable[Sequence[int] | NDArray[Any]], dtype: type[np.generic]) -> Rows:
    """`parts` as the rows of one array."""
    arrays = [np.asarray(part, dtype) for part in parts]
    values = np.concatenate(arrays) if arrays else np.empty(0, dtype)
    return Rows(values, np.cumsum([0, *map(len, arrays)], dtype=np.int64))


@dataclass(frozen=True)
class Dataset:
    """Files, units and questions are numbered from 0. Token ids are int32, from the drafter's vocabulary."""

    kinds: tuple[str, ...]
    languages: tuple[str, ...]
    projects: tuple[str, ...]
    prefix: Int32
    project_of: Int32  # [files]
    headers: Rows  # tokens, by file
    file_units: Int64  # [files + 1]: file f has the units file_units[f]:file_units[f+1]
    units: Rows  # tokens, by unit
    bare: Rows  # tokens, by unit: without the lines that questions quote; empty where none do
    twins: Int64  # [units]: equal for units of equal text
    kind_of: Int32  # [questions]
    language_of: Int32  # [questions]: that of the first gold
    questions: Rows  # tokens, by question
    golds: Rows  # units, by question
    asked_at: Int64  # [questions]: the unit a question is asked from, or -1
    quotes: NDArray[np.bool_]  # [questions]: whether the golds must be shown bare

    def file_of(self, unit: int) -> int:
        """The file that a unit belongs to."""
        return int(np.searchsorted(self.file_units, unit, "right")) - 1

    def require_files(self) -> None:
        """Raise TrainingError if there are questions alone, as `adding.questions_alone` leaves them."""
        if not len(self.units):
            raise TrainingError("these are questions alone: join them with the data set they are about")

    def save(self, path: Path) -> None:
        """Write everything to one compressed file, the same bytes for the same data."""
        arrays: dict[str, NDArray[Any]] = {"names": np.array(json.dumps([getattr(self, name) for name in _NAMES]))}
        for field in fields(self)[len(_NAMES) :]:
            value = getattr(self, field.name)
            if isinstance(value, Rows):
                arrays[f"{field.name}.lengths"] = np.diff(value.offsets).astype(np.int32)
                arrays[field.name] = value.values
            else:
                arrays[field.name] = value
        with path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: Path) -> Dataset:
        """Read what `save` wrote. TrainingError if `path` is no such file."""
        try:
            with np.load(path, allow_pickle=False) as file:
                stored = {name: file[name] for name in file.files}
            values: dict[str, Any] = dict(zip(_NAMES, map(tuple, json.loads(str(stored["names"]))), strict=True))
            values.update({f.name: _restored(f.name, stored) for f in fields(cls)[len(_NAMES) :]})
            return cls(**values)
        except (OSError, ValueError, KeyError) as error:
            raise TrainingError(f"{path} is no data set of `winnow train prepare`: {error}; prepare it anew") from error


def _restored(name: str, stored: dict[str, NDArray[Any]]) -> Rows | NDArray[Any]:
    lengths = stored.get(f"{name}.lengths")
    return stored[name] if lengths is None else Rows(stored[name], np.cumsum([0, *lengths], dtype=np.int64))
