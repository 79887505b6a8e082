from contextlib import closing
from pathlib import Path

import llama_cpp
import numpy as np

from winnow_engine.core import Sampling
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.draft_tree import chain
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets.local.decoding import Sampler

from ..loaded import OPTIONS


def test_the_likeliest_is_the_token_that_llama_cpp_finds_in_each_row(tiny_qwen3: Path) -> None:
    greedy = llama_cpp.llama_sampler_init_greedy()
    with closing(LlamaModel(tiny_qwen3)) as model, closing(LlamaContext(model, 64, OPTIONS, 16)) as context:
        context.decode_tree(1, chain(range(40, 56), [1.0] * 16), 0)
        with closing(Sampler(Sampling(temperature=0))) as sampler:
            chosen = [sampler.sample(context, row) for row in range(-1, 17)]
            assert chosen == [llama_cpp.llama_sampler_sample(greedy, context.handle, row) for row in range(-1, 17)]
            assert len(set(chosen)) > 1
            context.logits(3)[:256] = 1000 * (np.arange(256) // 4 % 9)
            assert sampler.sample(context, 3) == llama_cpp.llama_sampler_sample(greedy, context.handle, 3) == 32
    llama_cpp.llama_sampler_free(greedy)
