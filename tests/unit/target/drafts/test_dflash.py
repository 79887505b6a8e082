"""DFlash drafts on a tiny pair: the same numbers as in NumPy, and answers that are the target's own."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from winnow_engine.core import Cancellation
from winnow_engine.errors import DraftError
from winnow_engine.llama.model import Model
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.target.abort import AbortFlag
from winnow_engine.target.base import Prompt, Sampling
from winnow_engine.target.context import Context
from winnow_engine.target.decoding import Answer, decode
from winnow_engine.target.drafts.base import MOST_NODES, Draft, NoDraft
from winnow_engine.target.drafts.dflash import DFlashDraft, open_dflash
from winnow_engine.target.kv import KvCache
from winnow_engine.target.llama import LlamaTarget
from winnow_engine.target.options import TargetOptions

OPTIONS = TargetOptions(n_threads=1, n_ubatch=32)
PROMPTS = int(os.environ.get("WINNOW_TEST_PROMPTS", "40"))
HEAD, MASK, BLOCK, READ = 16, 256, 6, (1, 3)
Array = NDArray[np.float32]


class Network:
    """A GGUF's layers in NumPy, in float32: RMS norms, q and k normed a head, NeoX RoPE, grouped queries, SwiGLU.

    Keys and values are rounded to float16 as in llama.cpp's memory.
    """

    def __init__(self, path: Path) -> None:
        self.tensors = {tensor.name: np.array(tensor.data) for tensor in gguf.GGUFReader(path).tensors}
        self.layers = 1 + max(int(name.split(".")[1]) for name in self.tensors if name.startswith("blk."))

    def norm(self, x: Array, name: str) -> Array:
        return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-5) * self.tensors[f"{name}.weight"]

    def times(self, x: Array, name: str) -> Array:
        return x @ self.tensors[f"{name}.weight"].T

    def keys_and_values(self, x: Array, layer: int, positions: Array) -> tuple[Array, Array]:
        keys = rope(self.norm(self.times(x, f"blk.{layer}.attn_k"), f"blk.{layer}.attn_k_norm"), positions)
        return half(keys), half(self.times(x, f"blk.{layer}.attn_v"))

    def layer(self, x: Array, layer: int, positions: Array, before: tuple[Array, Array] | None, mask: Array) -> Array:
        """One layer over `x`, which attends to keys and values `before`, and to itself as `mask` adds to scores."""
        name = f"blk.{layer}"
        normed = self.norm(x, f"{name}.attn_norm")
        keys, values = self.keys_and_values(normed, layer, positions)
        if before is not None:
            keys, values = np.vstack([before[0], keys]), np.vstack([before[1], values])
        queries = self.times(normed, f"{name}.attn_q").reshape(len(x), -1, HEAD).swapaxes(0, 1)
        queries = rope(self.norm(queries, f"{name}.attn_q_norm"), positions)
        scores = queries @ keys.T / np.sqrt(HEAD) + mask
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads = weights / weights.sum(axis=-1, keepdims=True) @ values
        x = x + self.times(heads.swapaxes(0, 1).reshape(len(x), -1), f"{name}.attn_output")
        normed = self.norm(x, f"{name}.ffn_norm")
        gate = self.times(normed, f"{name}.ffn_gate")
        return x + self.times(gate / (1 + np.exp(-gate)) * self.times(normed, f"{name}.ffn_up"), f"{name}.ffn_down")


def half(x: Array) -> Array:
    return x.astype(np.float16).astype(np.float32)


def rope(x: Array, positions: Array) -> Array:
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD)
    low, high = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([low * cos - high * sin, low * sin + high * cos], axis=-1).astype(np.float32)


def features(target: Network, tokens: Prompt) -> Array:
    """What the layers of READ get in, side by side."""
    positions, inputs = np.arange(len(tokens)), []
    causal = np.triu(np.full((len(tokens), len(tokens)), -np.inf), 1)
    x = target.tensors["token_embd.weight"][tokens]
    for layer in range(target.layers):
        inputs.append(x)
        x = target.layer(x, layer, positions, None, causal)
    return np.hstack([inputs[layer] for layer in READ])


def block_logits(draft: Network, target: Network, read: Array, token: int, first: int = 0) -> Array:
    """The logits of a block behind the tokens at `first` and after, whose features are `read`: (BLOCK, vocabulary)."""
    before, places = first + np.arange(len(read)), first + len(read) + np.arange(BLOCK)
    fused = draft.norm(draft.times(read, "fc"), "enc.output_norm")
    x = target.tensors["token_embd.weight"][[token] + [MASK] * (BLOCK - 1)]
    for layer in range(draft.layers):
        x = draft.layer(x, layer, places, draft.keys_and_values(fused, layer, before), np.zeros(1))
    return target.times(draft.norm(x, "output_norm"), "token_embd")


class Pair:
    """A target and a DFlash draft of it, as a session has them."""

    def __init__(self, target: Path, draft: Path, options: TargetOptions = OPTIONS) -> None:
        self.model = Model(target)
        self.vocabulary = Vocabulary(self.model)
        self.draft: DFlashDraft = open_dflash(Model(draft), self.model, draft, options)
        self.cache = KvCache(Context(self.model, 512, options, MOST_NODES))

    def answer(
        self, draft: Draft, prompt: Prompt, tokens: int = 60, on_text: Callable[[str], None] = lambda _: None
    ) -> Answer:
        flag = AbortFlag()
        self.cache.context.abort_with(flag)
        self.prefill(prompt)
        answer = Answer(on_text)
        draft.begin(prompt, flag)
        decode(answer, self.cache, self.vocabulary, Sampling(max_tokens=tokens), draft)
        return answer

    def prefill(self, prompt: Prompt) -> None:
        for start in range(self.cache.reuse(prompt), len(prompt), 32):
            assert self.cache.extend(prompt[start : start + 32], want_logits=start + 32 >= len(prompt))

    def block(self, token: int) -> Array:
        """The logits that a block behind all that the target holds gets."""
        logits = self.draft._memory.evaluate(token, AbortFlag())
        assert logits is not None
        return logits.copy()

    def close(self) -> None:
        self.cache.context.close()
        self.draft.close()
        self.model.close()


def prompt(seed: int, length: int = 50) -> Prompt:
    return np.random.default_rng(seed).integers(0, 256, length).astype(np.int32)


@pytest.fixture
def pair(tiny_qwen3: Path, make_dflash) -> Iterator[Pair]:
    with closing(Pair(tiny_qwen3, make_dflash())) as pair:
        yield pair


@pytest.fixture
def networks(tiny_qwen3: Path, make_dflash) -> tuple[Network, Network]:
    return Network(make_dflash()), Network(tiny_qwen3)


def assert_near(ours: Array, reference: Array) -> None:
    """Within 0.02, where logits have a standard deviation above 1: float16 keys and values, and other orders of sums."""
    assert reference.std() > 1
    np.testing.assert_allclose(ours, reference, rtol=0, atol=0.02)


@pytest.mark.parametrize("length", [1, 31, 32, 33, 100])
def test_a_blocks_logits_are_those_of_numpy(pair: Pair, networks: tuple[Network, Network], length: int) -> None:
    text = prompt(1, length)
    pair.prefill(text)
    read = features(networks[1], text)
    assert_near(pair.block(77), block_logits(*networks, read, 77))


def test_x(pair, networks):
    for seed in range(30):
        text = prompt(seed, 50)
        pair.prefill(text)
        read = features(networks[1], text)
        a = pair.block(77); b = block_logits(*networks, read, 77)
        print(np.abs(a - b).max(), b.std(), (a.argmax(-1) == b.argmax(-1)).sum())
    import time
    acc=dr=0
    for seed in range(60):
        t=time.perf_counter()
        pl = pair.answer(NoDraft(), prompt(seed))
        a = pair.answer(pair.draft, prompt(seed))
        print(a.tokens == pl.tokens, a.accepted, a.drafted, len(a.tokens), time.perf_counter()-t)
    assert 0
