"""A draft beside a real target. Its weights are random: it guesses badly."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import gguf
import numpy as np
import pytest

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.layer_inputs import LayerInputs

from ..unit.targets.drafts.block_files import write_block
from ..unit.targets.drafts.numpy_drafts import Array
from ..unit.targets.drafts.pair import Pair, differs_where_batches_round_otherwise_alone

pytestmark = pytest.mark.real_weights

WIDTH = 576
TEXT = "def fibonacci(n):\n    if n < 2:\n        return n\n    return fib"


@pytest.fixture(scope="module")
def random_block(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "random-block.gguf"
    return write_block(path, (4, 16, 28), WIDTH, spread=0.05, own=4096, block=8)


@pytest.fixture
def pair(smollm2: Path, random_block: Path) -> Iterator[Pair]:
    with closing(Pair(smollm2, random_block)) as pair:
        yield pair


@pytest.fixture
def prompt(pair: Pair) -> Prompt:
    return pair.vocabulary.tokenize(TEXT)


def test_the_first_layer_reads_the_token_embeddings(pair: Pair, prompt: Prompt, smollm2: Path) -> None:
    tensor = next(tensor for tensor in gguf.GGUFReader(smollm2).tensors if tensor.name == "token_embd.weight")
    embeddings = gguf.quants.dequantize(tensor.data[prompt], tensor.tensor_type)
    inputs = LayerInputs(pair.cache.context.handle, [0, 3], WIDTH)
    pair.prefill(prompt)
    first, later = np.split(inputs.rows(np.arange(len(prompt))), 2, axis=1)
    np.testing.assert_allclose(first, embeddings, rtol=0, atol=1e-6)
    assert np.abs(later - first).max() > 0.1


def test_answers_differ_where_batches_round_otherwise_alone(pair: Pair, prompt: Prompt) -> None:
    differs_where_batches_round_otherwise_alone(pair, prompt)


def test_what_is_read_changes_the_guesses(pair: Pair, prompt: Prompt) -> None:
    def block() -> Array:
        assert pair.draft._memory is not None
        logits = pair.draft._memory.evaluate(28, 8, AbortFlag())
        assert logits is not None
        return logits.copy()

    pair.prefill(prompt)
    here = block()
    pair.prefill(prompt[::-1].copy())
    assert np.isfinite(here).all()
    assert np.abs(here - block()).max() > 0.1
