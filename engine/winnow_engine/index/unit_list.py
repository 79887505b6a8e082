"""The units of many files under one numbering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Unit
from winnow_engine.index.indexed_file import IndexedFile


class Units:
    """Every unit of some files with its file, by number. A file's units are made when one of them is asked for."""

    def __init__(self, files: Sequence[IndexedFile], starts: NDArray[np.int64]) -> None:
        self._files, self._starts = files, starts

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, number: int) -> tuple[IndexedFile, Unit]:
        number = range(len(self))[number]
        file = int(np.searchsorted(self._starts, number, side="right")) - 1
        return self._files[file], self._files[file].units[number - int(self._starts[file])]

    def __iter__(self) -> Iterator[tuple[IndexedFile, Unit]]:
        return ((file, unit) for file in self._files for unit in file.units)
