"""How the next token is chosen, by llama.cpp's own samplers."""

from __future__ import annotations

from collections.abc import Iterator

import llama_cpp

from winnow_engine.target.base import Sampling
from winnow_engine.target.context import Context


class Sampler:
    """A chain of llama.cpp samplers with its random state; the same seed gives the same choices."""

    def __init__(self, sampling: Sampling) -> None:
        self._chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
        for link in _links(sampling):
            llama_cpp.llama_sampler_chain_add(self._chain, link)

    def sample(self, context: Context, row: int = -1) -> int:
        """A token from a row of the logits of the context's last evaluation, which must have asked for them."""
        return int(llama_cpp.llama_sampler_sample(self._chain, context.handle, row))

    def close(self) -> None:
        """Free the chain and its links."""
        llama_cpp.llama_sampler_free(self._chain)


def _links(sampling: Sampling) -> Iterator[int]:
    if sampling.temperature == 0:
        yield llama_cpp.llama_sampler_init_greedy()
        return
    yield llama_cpp.llama_sampler_init_top_p(sampling.top_p, 1)
    yield llama_cpp.llama_sampler_init_temp(sampling.temperature)
    yield llama_cpp.llama_sampler_init_dist(sampling.seed)
