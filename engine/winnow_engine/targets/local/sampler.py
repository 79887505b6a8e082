"""Chooses the next token: the likeliest one, or one drawn by llama.cpp's samplers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import llama_cpp

from winnow_engine.core import Sampling
from winnow_engine.llama.context import LlamaContext


class Sampler:
    """A chain of llama.cpp samplers with its random state. The same seed gives the same choices.

    At temperature 0 there is no chain, because llama.cpp's would first write a candidate for each token of the
    vocabulary.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._chain = _chain(sampling) if sampling.temperature else None

    def sampled(self, context: LlamaContext) -> AbstractContextManager[None]:
        """Have `context` evaluate for `sample`."""
        return context.choosing() if self._chain is None else nullcontext()

    def sample(self, context: LlamaContext, row: int = -1) -> int:
        """A token chosen from a row of the last evaluation's logits, for which the evaluation must have asked."""
        if self._chain is None:
            return context.likeliest(row)
        return int(llama_cpp.llama_sampler_sample(self._chain, context.handle, row))

    def close(self) -> None:
        """Free the chain."""
        if self._chain is not None:
            llama_cpp.llama_sampler_free(self._chain)


def _chain(sampling: Sampling) -> llama_cpp.llama_sampler_p:
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    for link in _links(sampling):
        llama_cpp.llama_sampler_chain_add(chain, link)
    return chain


def _links(sampling: Sampling) -> Iterator[int]:
    yield llama_cpp.llama_sampler_init_top_p(sampling.top_p, 1)
    yield llama_cpp.llama_sampler_init_temp(sampling.temperature)
    yield llama_cpp.llama_sampler_init_dist(sampling.seed)
