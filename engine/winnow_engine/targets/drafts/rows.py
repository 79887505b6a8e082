"""What a draft remembers of the target's hidden states: one row a token, evaluated in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from winnow_engine.llama.abort import AbortFlag
from winnow_engine.targets.drafts.reader import Reader


class RowMemory(ABC):
    """The rows of the target's tokens from the first one known on. New rows wait until they fill a batch or are needed.

    The last row always waits, because only what follows it tells how it is evaluated. Behind the rows there may be
    guesses, until the next evaluation of rows.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._evaluated = 0
        self._waiting: list[tuple[NDArray[np.float32], NDArray[np.int32]]] = []
        self._never = AbortFlag()

    @property
    def length(self) -> int:
        """Where the next row belongs."""
        return self._evaluated + sum(len(tokens) for _, tokens in self._waiting)

    def add(self, start: int, features: NDArray[np.float32], tokens: NDArray[np.int32]) -> None:
        """Remember rows, shape (tokens, layers * width), from `start` on. A gap before forgets the rest."""
        if start != self.length:
            self._restart(start)
        self._waiting.append((features, tokens))
        if self.length - self._evaluated > self._reader.n_batch:
            self._evaluate(None, self._never)

    def truncate(self, length: int) -> None:
        """Forget all rows but those of the target's first `length` tokens.

        The last one left may have been evaluated with another token behind it: that costs a little of the next guesses.
        """
        if length >= self.length:
            return
        if length < self._evaluated:
            self._reader.forget(length)
            self._evaluated, self._waiting = length, []
            return
        features, tokens = self._joined()
        kept = length - self._evaluated
        self._waiting = [(features[:kept], tokens[:kept])] if kept else []

    def close(self) -> None:
        """Free the context."""
        self._reader.close()

    def _evaluate(self, following: int | None, abort: AbortFlag) -> bool:
        """Forget guesses, and evaluate what waits; the last row too if it is known what token follows.

        False if aborted. Then, and after TargetError, all is forgotten, and what comes next is the first row known.
        """
        self._reader.forget(self._evaluated)
        if not self._waiting:
            return True
        end = self.length
        features, tokens = self._joined()
        self._waiting = [(features[-1:], tokens[-1:])] if following is None else []
        behind = np.append(tokens[1:], np.int32(following)) if following is not None else tokens[1:]
        done = False
        try:
            done = self._evaluate_all(features[: len(behind)], behind, abort)
        finally:
            if not done:
                self._restart(end)
        return done

    def _evaluate_all(self, features: NDArray[np.float32], behind: NDArray[np.int32], abort: AbortFlag) -> bool:
        step = self._reader.n_batch
        for start in range(0, len(behind), step):
            rows = np.ascontiguousarray(features[start : start + step])
            if not self._evaluate_rows(self._evaluated, rows, behind[start : start + step].copy(), abort):
                return False
            self._evaluated += len(rows)
        return True

    @abstractmethod
    def _evaluate_rows(
        self, start: int, rows: NDArray[np.float32], behind: NDArray[np.int32], abort: AbortFlag
    ) -> bool:
        """Evaluate a batch of rows into the reader's memory, with the tokens that follow each; False if aborted."""

    def _joined(self) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        features, tokens = zip(*self._waiting, strict=True)
        return np.concatenate(features), np.concatenate(tokens)

    def _restart(self, start: int) -> None:
        self._reader.clear()
        self._evaluated, self._waiting = start, []
