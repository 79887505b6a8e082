"""A block draft's memory of its target's text, in a context of the draft's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import pass_sizes
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets.drafts.draft_context import DraftContext

if TYPE_CHECKING:
    from winnow_engine.targets.drafts.block_tables import BlockTables, RowMaker

States = Callable[[slice], NDArray[np.float32]]
"""Hidden states of the tokens in a slice of an evaluation's: shape (tokens, layers * width)."""

WINDOW = 256
"""Tokens before an answer that are read."""
FIRST = 16
"""And tokens of the prompt's beginning, which any attention looks at where it looks at nothing else."""
# Rows of a pass. The product for few tokens (few_tokens.h) has no more: with AVX2 17 rows take twice as long as 16.
_MOST_ROWS = 16


class BlockMemory:
    """A row for each token of the target whose next one is known, made from its hidden states.

    Rows are evaluated when a guess is wanted: the last `WINDOW` behind the text's first `FIRST`, without which an
    explanation has 2.0 tokens a pass instead of 2.3, as with all rows (1.5B). The last hidden state always waits for
    the token behind it. Guesses may stand behind the rows until more of these are evaluated.
    """

    def __init__(
        self, model: LlamaModel, n_ctx: int, tables: BlockTables, maker: RowMaker, options: TargetOptions
    ) -> None:
        """Make a `DraftContext` for `n_ctx` rows and a block behind them. TargetError without memory."""
        self._context = DraftContext(model, n_ctx + tables.block, tables.block, options)
        self._tables, self._maker = tables, maker
        self._sizes = pass_sizes(model, options)  # or a draft's first proposals take 4 ms instead of 1
        self._first: tuple[NDArray[np.float32], NDArray[np.int32]] | None = None
        self._begins = self._evaluated = 0
        self._empty = True
        self._waiting: list[tuple[NDArray[np.float32], NDArray[np.int32]]] = []

    @property
    def length(self) -> int:
        """The position of the next hidden state."""
        return self._evaluated + sum(len(tokens) for _, tokens in self._waiting)

    @property
    def most(self) -> int:
        """The most guesses of one pass: a block, with a row before it, is evaluated in one batch."""
        return min(self._tables.block, self._context.n_batch)

    def add(self, start: int, read: States, tokens: NDArray[np.int32], following: int) -> None:
        """Remember hidden states of `tokens` from `start` on, as far as the window goes once `following` more came.

        A gap before them forgets all.
        """
        if start == 0 and len(tokens) > FIRST:
            self._first = read(slice(FIRST)), tokens[: FIRST + 1].copy()
        window = slice(max(0, len(tokens) - max(0, WINDOW - following)), None)
        if window.start == len(tokens):
            return
        start += window.start
        if start != self.length:
            self._restart(start)
        self._waiting.append((read(window), tokens[window]))
        if self.length - self._evaluated > 2 * WINDOW:
            self._keep_window()

    def truncate(self, length: int) -> None:
        """Forget all but the target's first `length` tokens; the last one may guess a little worse from then on."""
        if length <= FIRST:
            self._first = None
        if length < min(self._begins, self._evaluated):
            self._restart(length)
        elif length < self._evaluated:
            self._context.forget(length)
            self._evaluated, self._waiting = length, []
        elif length < self.length:
            states, tokens = self._joined()
            kept = length - self._evaluated
            self._waiting = [(states[:kept], tokens[:kept])] if kept else []

    def evaluate(self, token: int, places: int, abort: AbortFlag) -> NDArray[np.float32] | None:
        """Logits [places, vocabulary] behind `token`, valid until the next call; None if aborted or nothing waited.

        After an abort or a TargetError all is forgotten, and what comes next is the first hidden state known.
        """
        most = min(_MOST_ROWS, self._context.n_batch)
        if not self._ready(abort):
            return None
        self._context.forget(self._evaluated)
        if self.length - self._evaluated > 1 + most // 2 and not self._evaluate_window(abort):
            return None
        if not self._waiting:
            return None
        states, tokens = self._joined()
        places = min(places, most + 1 - len(states))
        rows = self._maker.rows(states, np.append(tokens[1:], np.int32(token)))
        needed = len(states) + places - 1
        size = next((size for size in self._sizes if needed <= size <= min(most, self._tables.block)), needed)
        last = size if self._sizes else places  # rows with logits, of which a graph has a fixed number, too
        rows = np.concatenate([rows, self._tables.masks[: size - len(states)]])
        if not self._decode(self._evaluated, rows, abort, last):
            return None
        self._evaluated, self._waiting = self._evaluated + len(states), []
        return self._context.logits(last)[len(states) - 1 - (size - last) :][:places]

    def close(self) -> None:
        """Free the context."""
        self._context.close()

    def _restart(self, start: int) -> None:
        self._context.clear()
        self._context.shift = self._begins = self._evaluated = start
        self._empty, self._waiting = True, []

    def _keep_window(self) -> None:
        end = self.length
        states, tokens = self._joined()
        self._restart(end - WINDOW)
        self._waiting = [(states[-WINDOW:].copy(), tokens[-WINDOW:].copy())]

    def _joined(self) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        states, tokens = zip(*self._waiting, strict=True)
        return np.concatenate(states), np.concatenate(tokens)

    def _ready(self, abort: AbortFlag) -> bool:
        """Have what waits be a window at most, and evaluate what stands before it; False if aborted."""
        if self.length - self._evaluated > WINDOW:
            self._keep_window()
        if not self._empty or not self._waiting:
            return True
        if self._first is not None and self._begins >= FIRST:
            states, tokens = self._first
            self._context.shift = 0
            if not self._evaluate_rows(0, states, tokens[1:], abort):
                return False
            self._context.shift = self._begins - FIRST
        self._empty = False
        return True

    def _evaluate_window(self, abort: AbortFlag) -> bool:
        """Evaluate all that waits but the last hidden state; False if aborted."""
        states, tokens = self._joined()
        if not self._evaluate_rows(self._evaluated, states[:-1], tokens[1:], abort):
            return False
        self._evaluated, self._waiting = self._evaluated + len(states) - 1, [(states[-1:], tokens[-1:])]
        return True

    def _evaluate_rows(
        self, start: int, states: NDArray[np.float32], behind: NDArray[np.int32], abort: AbortFlag
    ) -> bool:
        step = self._context.n_batch
        return all(
            self._decode(start + at, self._maker.rows(states[at : at + step], behind[at : at + step]), abort)
            for at in range(0, len(states), step)
        )

    def _decode(self, start: int, rows: NDArray[np.float32], abort: AbortFlag, last: int = 0) -> bool:
        done, end = False, self.length
        try:
            done = self._context.decode(start, rows, abort, last)
        finally:
            if not done:
                self._restart(end)
        return done
