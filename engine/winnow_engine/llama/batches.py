"""Batches of tokens in llama.cpp's form. They borrow arrays, which the caller must keep alive."""

from __future__ import annotations

import ctypes
from itertools import chain

import llama_cpp
import numpy as np
from numpy.typing import NDArray

_INT_P = ctypes.POINTER(ctypes.c_int32)


def row_batch(tokens: NDArray[np.int32], outputs: NDArray[np.int8]) -> llama_cpp.llama_batch:
    """A batch that borrows both arrays. Its positions are the next ones, its sequence is 0."""
    return llama_cpp.llama_batch(
        n_tokens=len(tokens),
        token=tokens.ctypes.data_as(_INT_P),
        logits=outputs.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
    )


def tree_batch(
    tokens: NDArray[np.int32], positions: NDArray[np.int32], branches: list[list[int]]
) -> tuple[llama_cpp.llama_batch, list[object]]:
    """A batch of tokens that belong to branches, with all logits, and the arrays that it borrows."""
    outputs = np.ones(len(tokens), np.int8)
    counts = np.array([len(own) for own in branches], np.int32)
    flat = np.fromiter(chain.from_iterable(branches), np.int32)
    pointers = (flat.ctypes.data + flat.itemsize * (counts.cumsum() - counts)).astype(np.uintp)
    batch = row_batch(tokens, outputs)
    batch.pos, batch.n_seq_id = positions.ctypes.data_as(_INT_P), counts.ctypes.data_as(_INT_P)
    batch.seq_id = pointers.ctypes.data_as(ctypes.POINTER(_INT_P))
    return batch, [tokens, positions, outputs, counts, flat, pointers]
