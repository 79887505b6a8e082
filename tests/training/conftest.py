"""Tests of what PyTorch runs. They are collected where PyTorch is installed, and only there."""

import importlib.util
from pathlib import Path

import gguf
import numpy as np
import pytest
from random_models import add_tokenizer, write_all

from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.evaluation.archives import Archive
from winnow_research.evaluation.haystack import Haystack, indexed
from winnow_research.evaluation.repositories import PinnedRepository, SourceFile, Split
from winnow_research.training.collector import Collector, joined
from winnow_research.training.dataset import Dataset
from winnow_research.training.examples.base import Example, ProjectTree

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]

LAYERS, WIDTH, HEADS, KV_HEADS = 2, 64, 4, 2
WORDS = ("amber", "badger", "cobalt", "dahlia", "ember", "falcon", "granite", "heron", "indigo", "juniper")


@pytest.fixture(scope="session")
def drafter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Qwen2 of two small layers with random weights."""
    path = tmp_path_factory.mktemp("models") / "tiny-qwen2.gguf"
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_feed_forward_length(2 * WIDTH)
    add_tokenizer(writer, ["<|im_start|>", "<|im_end|>", "<|file_sep|>"])
    narrow, square, wide = WIDTH * KV_HEADS // HEADS, (WIDTH, WIDTH), (2 * WIDTH, WIDTH)
    layer: dict[str, tuple[int, ...]] = dict.fromkeys(("attn_norm.weight", "ffn_norm.weight"), (WIDTH,))
    layer |= {"attn_q.weight": square, "attn_k.weight": (narrow, WIDTH), "attn_v.weight": (narrow, WIDTH)}
    layer |= {"attn_q.bias": (WIDTH,), "attn_k.bias": (narrow,), "attn_v.bias": (narrow,), "attn_output.weight": square}
    layer |= {"ffn_gate.weight": wide, "ffn_up.weight": wide, "ffn_down.weight": wide[::-1]}
    shapes = {f"blk.{index}.{name}": shape for index in range(LAYERS) for name, shape in layer.items()}
    random = np.random.default_rng(7)
    for name, shape in {"token_embd.weight": (259, WIDTH), "output_norm.weight": (WIDTH,), **shapes}.items():
        spread = 1.0 if name == "token_embd.weight" else 0.15
        value = np.ones(shape) if "norm" in name else random.normal(0, spread, shape)
        writer.add_tensor(name, value.astype(np.float32))
    write_all(writer)
    return path


@pytest.fixture(scope="session")
def tree() -> ProjectTree:
    """Two files, each with a function a word."""
    halves = {"a.py": WORDS[:5], "b.py": WORDS[5:]}
    files = [
        SourceFile(f"words/{name}", "\n\n".join(f"def {word}():\n    return '{word}'" for word in half).encode())
        for name, half in halves.items()
    ]
    archive = Archive("pypi", "words", "1.0", "0" * 64)
    return ProjectTree(Haystack(PinnedRepository("words", "python", Split.CALIBRATION, archive), indexed(files)))


@pytest.fixture(scope="session")
def data(drafter: Path, tree: ProjectTree) -> Dataset:
    """Each function asked for by its word."""
    collector = Collector(Vocabulary(LlamaModel(drafter, vocabulary_only=True)))
    examples = [Example("name", place.unit.name, (place,)) for place in tree.haystack.places if place.unit.name]
    part = collector.part("words", tree.haystack.files, examples, lambda path: path)
    return joined([part], collector.prefix)
