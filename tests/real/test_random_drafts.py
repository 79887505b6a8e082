"""Drafts beside a real target. Their weights are random (published ones are gigabytes): they guess badly."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import gguf
import numpy as np
import pytest
from random_models import write_all

from winnow_engine.core import Prompt
from winnow_engine.llama.layer_inputs import LayerInputs
from winnow_engine.targets.drafts.base import Draft, DraftFile
from winnow_engine.targets.drafts.block import open_block
from winnow_engine.targets.drafts.dflash import open_dflash

from ..unit.targets.drafts.block_files import write_block
from ..unit.targets.drafts.pair import Pair, differs_where_batches_round_otherwise_alone
from ..unit.targets.drafts.test_dflash import DFlashPair, block

pytestmark = pytest.mark.real_weights

WIDTH, HEAD, HEADS, KV_HEADS = 576, 64, 9, 3
READ = (1, 15, 28)
TEXT = "def fibonacci(n):\n    if n < 2:\n        return n\n    return fib"


@pytest.fixture(scope="module")
def reader(smollm2: Path) -> gguf.GGUFReader:
    return gguf.GGUFReader(smollm2)


@pytest.fixture(scope="module")
def random_dflash(reader: gguf.GGUFReader, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two layers over three of SmolLM2's, with its vocabulary; embeddings and output are lent by the target."""
    path = tmp_path_factory.mktemp("models") / "random-dflash.gguf"
    writer = gguf.GGUFWriter(path, "dflash")
    for name, field in reader.fields.items():
        if name.startswith("tokenizer.ggml."):
            writer.add_key_value(name, field.contents(), *field.types[:2])
    writer.add_mask_token_id(0)
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_feed_forward_length(WIDTH)
    writer.add_uint32("dflash.block_size", 8)
    writer.add_array("dflash.target_layers", list(READ))
    random = np.random.default_rng(3)
    for name, shape in shapes():
        weights = np.ones(shape) if len(shape) == 1 else random.normal(0, 0.05, shape)
        writer.add_tensor(name, weights.astype(np.float32))
    write_all(writer)
    return path


def shapes() -> Iterator[tuple[str, tuple[int, ...]]]:
    yield "fc.weight", (WIDTH, len(READ) * WIDTH)
    yield "enc.output_norm.weight", (WIDTH,)
    yield "output_norm.weight", (WIDTH,)
    for layer in range(2):
        for norm, width in (("attn", WIDTH), ("ffn", WIDTH), ("attn_q", HEAD), ("attn_k", HEAD)):
            yield f"blk.{layer}.{norm}_norm.weight", (width,)
        yield f"blk.{layer}.attn_q.weight", (HEADS * HEAD, WIDTH)
        yield f"blk.{layer}.attn_k.weight", (KV_HEADS * HEAD, WIDTH)
        yield f"blk.{layer}.attn_v.weight", (KV_HEADS * HEAD, WIDTH)
        yield f"blk.{layer}.attn_output.weight", (WIDTH, HEADS * HEAD)
        for name in ("ffn_gate", "ffn_up", "ffn_down"):
            yield f"blk.{layer}.{name}.weight", (WIDTH, WIDTH)


@pytest.fixture(scope="module")
def random_block(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "random-block.gguf"
    return write_block(path, (4, 16, 28), WIDTH, spread=0.05, own=4096, block=8)


@pytest.fixture
def pair(smollm2: Path, random_dflash: Path) -> Iterator[DFlashPair]:
    with closing(Pair(smollm2, random_dflash, open_dflash)) as pair:
        yield pair


@pytest.fixture
def prompt(pair: DFlashPair) -> Prompt:
    return pair.vocabulary.tokenize(TEXT)


def test_the_first_layer_reads_the_token_embeddings(pair: DFlashPair, prompt: Prompt, reader: gguf.GGUFReader) -> None:
    tensor = next(tensor for tensor in reader.tensors if tensor.name == "token_embd.weight")
    embeddings = gguf.quants.dequantize(tensor.data[prompt], tensor.tensor_type)
    inputs = LayerInputs(pair.cache.context.handle, [0, 3], WIDTH)
    pair.prefill(prompt)
    first, later = np.split(inputs.rows(np.arange(len(prompt))), 2, axis=1)
    np.testing.assert_allclose(first, embeddings, rtol=0, atol=1e-6)
    assert np.abs(later - first).max() > 0.1


@pytest.mark.parametrize(("draft", "open_draft"), [("random_dflash", open_dflash), ("random_block", open_block)])
def test_answers_differ_where_batches_round_otherwise_alone(
    smollm2: Path, request: pytest.FixtureRequest, draft: str, open_draft: Callable[[DraftFile], Draft]
) -> None:
    with closing(Pair(smollm2, request.getfixturevalue(draft), open_draft)) as pair:
        differs_where_batches_round_otherwise_alone(pair, pair.vocabulary.tokenize(TEXT))


def test_what_is_read_changes_the_guesses(pair: DFlashPair, prompt: Prompt) -> None:
    pair.prefill(prompt)
    here = block(pair, 28)
    pair.prefill(prompt[::-1].copy())
    assert np.isfinite(here).all()
    assert np.abs(here - block(pair, 28)).max() > 0.1
