"""The memory of a block-diffusion draft: keys and values made of the target's hidden states, and blocks behind them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets.drafts.reader import Reader
from winnow_engine.targets.drafts.rows import RowMemory


@dataclass(frozen=True, slots=True)
class Block:
    """What a DFlash model says of itself: the tokens of a block, its mask, and the target's layers it reads.

    Tokens of a `causal` block attend to earlier ones only.
    """

    size: int
    mask: int
    layers: tuple[int, ...]
    causal: bool


class BlockMemory(RowMemory):
    """Keys and values projected from rows; what follows a row does not matter."""

    def __init__(self, model: LlamaModel, target: int, n_ctx: int, block: Block, options: TargetOptions) -> None:
        """As `Reader`, for `n_ctx` rows and a block behind them."""
        whole = replace(options, n_ubatch=max(options.n_ubatch, block.size))
        super().__init__(Reader(model, target, n_ctx + block.size, block.size, whole))
        llama_cpp.llama_set_causal_attn(self._reader.handle, block.causal)
        self._block = block

    def evaluate(self, token: int, abort: AbortFlag) -> NDArray[np.float32] | None:
        """The logits of a block that begins with `token`, behind all rows: shape (block, vocabulary).

        They are valid until the next evaluation. None if aborted.
        """
        if not self._evaluate(token, abort):
            return None
        tokens = np.full(self._block.size, self._block.mask, np.int32)
        tokens[0] = token
        done = self._reader.decode(self._evaluated, abort, tokens=tokens, logits=True)
        return self._reader.logits(len(tokens)) if done else None

    def _evaluate_rows(
        self, start: int, rows: NDArray[np.float32], behind: NDArray[np.int32], abort: AbortFlag
    ) -> bool:
        return self._reader.decode(start, abort, states=rows)
