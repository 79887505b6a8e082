"""Chooses the next token: the likeliest one, or one drawn by llama.cpp's samplers."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Sampling
from winnow_engine.llama.context import LlamaContext
from winnow_engine.targets.local.grammar import AnswerGrammar


class Sampler:
    """A chain of llama.cpp samplers, seeded; none at temperature 0, where it would copy the vocabulary."""

    def __init__(self, sampling: Sampling, grammar: AnswerGrammar | None = None) -> None:
        """With a `grammar`, only tokens that it allows are chosen; it is told of them."""
        self._chain = _chain(sampling) if sampling.temperature else None
        self._grammar = grammar

    def sampled(self, context: LlamaContext) -> AbstractContextManager[None]:
        """Have `context` evaluate for `sample`."""
        return context.choosing() if self._chain is None and self._grammar is None else nullcontext()

    def sample(self, context: LlamaContext, row: int = -1) -> int:
        """A token chosen from a row of the last evaluation's logits, for which the evaluation must have asked."""
        if self._grammar is None:
            return self._any(context, row)
        if not self._grammar.begun and (early := self._grammar.before_answer(self._any(context, row))) is not None:
            return early
        token = self._allowed(context, row, self._grammar)
        self._grammar.go_on(token)
        return token

    def _allowed(self, context: LlamaContext, row: int, grammar: AnswerGrammar) -> int:
        if self._chain is None and grammar.allows(token := context.likeliest(row)):
            return token  # which needs no mask of the whole vocabulary
        allowed = grammar.allowed()
        logits = context.logits(row)[allowed]
        return int(allowed[logits.argmax() if self._chain is None else _drawn(self._chain, logits)])

    def _any(self, context: LlamaContext, row: int) -> int:
        if self._chain is None:
            return context.likeliest(row)
        return int(llama_cpp.llama_sampler_sample(self._chain, context.handle, row))

    def close(self) -> None:
        """Free the chain."""
        if self._chain is not None:
            llama_cpp.llama_sampler_free(self._chain)


def _drawn(chain: llama_cpp.llama_sampler_p, logits: NDArray[np.float32]) -> int:
    """The number of one of the logits, drawn by a chain."""
    candidates = np.zeros(len(logits), [("id", np.int32), ("logit", np.float32), ("p", np.float32)])
    candidates["id"], candidates["logit"] = np.arange(len(logits)), logits
    pointer = candidates.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data))
    array = llama_cpp.llama_token_data_array(data=pointer, size=len(logits), selected=-1, sorted=False)
    llama_cpp.llama_sampler_apply(chain, ctypes.byref(array))
    return int(array.data[array.selected].id)


def _chain(sampling: Sampling) -> llama_cpp.llama_sampler_p:
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    for link in _links(sampling):
        llama_cpp.llama_sampler_chain_add(chain, link)
    return chain


def _links(sampling: Sampling) -> Iterator[int]:
    yield llama_cpp.llama_sampler_init_top_p(sampling.top_p, 1)
    yield llama_cpp.llama_sampler_init_temp(sampling.temperature)
    yield llama_cpp.llama_sampler_init_dist(sampling.seed)
