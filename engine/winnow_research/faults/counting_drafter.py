"""A drafter that counts words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from winnow_engine.encoder.file_encoder import FileKeys, FileText


class CountingDrafter:
    """Keys are made from words: a row for each, of its length and of what `number` makes of it, below 100.

    A unit's `bands` numbers are its length. A file takes `pause_s`. `encoded` has the paths of the files that were.
    """

    identity, place = "counting", "cpu"

    def __init__(
        self, number: Callable[[str], int] = lambda word: sum(word.encode()), bands: int = 1, pause_s: float = 0.001
    ) -> None:
        self.encoded: list[str] = []
        self._number, self._bands, self._pause_s = number, bands, pause_s

    def encode(self, files: Iterable[FileText], *_: object) -> Iterator[FileKeys]:
        """Keys of each file."""
        for file in files:
            time.sleep(self._pause_s)
            self.encoded.append(file.path)
            words = [text.split() or [text] for text in file.units]
            codes = [[len(word) % 100, self._number(word) % 100] for some in words for word in some]
            pooled = [[len(text) % 1000] * self._bands for text in file.units]
            yield FileKeys(
                np.array([len(some) for some in words], np.int32),
                {
                    "codes": np.array(codes, np.int8).reshape(-1, 2),
                    "pooled": np.array(pooled, np.float16).reshape(-1, self._bands),
                },
            )
