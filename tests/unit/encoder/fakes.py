"""Stand-ins without weights for what `FileEncoder` stands on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.shapes import Batch, Encoder
from winnow_engine.encoder.profile import Arrays, ReadArrays


class Letters:
    """A vocabulary in which every byte is a token."""

    def tokenize(self, text: str) -> NDArray[np.int32]:
        return np.frombuffer(text.encode(), np.uint8).astype(np.int32)

    def tokenize_each(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        counts = np.array([len(text.encode()) for text in texts], np.int32)
        return self.tokenize("".join(texts)), counts


class Paths:
    """A template without strings: a file's header is its path."""

    prefix = np.zeros(0, np.int32)

    def header(self, path: str) -> NDArray[np.int32]:
        return Letters().tokenize(path)


@dataclass
class Recorder:
    """An encoder that does nothing but say how it is to be fed."""

    batch_tokens: int = 2048
    parallel: bool = True


@dataclass
class Identity:
    """A profile whose keys of a token are its id and position. `batches` are the sizes of what it was given."""

    batches: list[int] = field(default_factory=list)
    lock: Any = field(default_factory=Lock)

    def read(self, encoder: Encoder, batch: Batch, runs: NDArray[np.int32], check: Callable[[], None]) -> ReadArrays:
        check()
        with self.lock:
            self.batches.append(len(batch.ids))
        rows = np.concatenate([np.arange(a, b) for a, b in runs] or [np.empty(0, np.int64)])
        sums = np.array([[batch.ids[a:b].sum()] for a, b in runs], np.int64).reshape(-1, 1)
        return ReadArrays({"ids": batch.ids[rows], "positions": batch.positions[rows]}, {"sums": sums})

    def keep(self, read: ReadArrays, units: NDArray[np.int32], count: int) -> Arrays:
        sums = np.zeros(count, np.int64)
        np.add.at(sums, units, read.runs["sums"][:, 0])
        return {**read.tokens, "sums": sums}
