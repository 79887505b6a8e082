"""The drafter's own forward pass against llama.cpp's, on the same weights, at full depth."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import gguf
import llama_cpp
import numpy as np
import pytest
from random_models import write_all

from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.ops.elementwise import rms_norm
from winnow_cuda.shapes import Batch
from winnow_engine.encoder.weights import GgufTensors, load_weights
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.gguf_header import GgufHeader, read_header

pytestmark = pytest.mark.real_weights
POSITIONS = 256
TYPES = {int: gguf.GGUFValueType.UINT32, float: gguf.GGUFValueType.FLOAT32, str: gguf.GGUFValueType.STRING}


@pytest.fixture(params=["smollm2", "qwen_small"])
def models(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A model, and the same with its weights as float32."""
    source: Path = request.getfixturevalue(request.param)
    file = write_float32(source, tmp_path / "float32.gguf")
    yield source, file
    file.unlink()


def test_hidden_states_and_argmax_match(models: tuple[Path, Path]) -> None:
    source, model = models
    header = read_header(model)
    ids = Vocabulary(LlamaModel(source, vocabulary_only=True)).tokenize(Path(__file__).read_text() * 2)[:POSITIONS]
    hidden, logits = ours(model, header, ids)
    their_hidden, their_logits = theirs(model, ids, hidden.shape[1], logits.shape[1])
    cosine = (hidden * their_hidden).sum(1) / np.linalg.norm(hidden, axis=1) / np.linalg.norm(their_hidden, axis=1)
    assert cosine.min() >= 0.999
    assert (logits.argmax(1) == their_logits.argmax(1)).mean() >= 0.99


def ours(path: Path, header: GgufHeader, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Final-norm states and next-token logits."""
    tensors = GgufTensors(path, header)
    encoder = CpuEncoder(load_weights(path, header, header.block_count), ids[:0])
    batch = Batch(ids, np.arange(len(ids), dtype=np.int32), np.array([0, len(ids)]))
    eps = float(header.values[f"{header.architecture}.attention.layer_norm_rms_epsilon"])
    hidden = rms_norm(encoder.encode(batch).hidden, tensors.read("output_norm.weight"), eps)
    name = "output.weight" if "output.weight" in tensors else "token_embd.weight"
    return hidden, hidden @ tensors.read(name).T


def theirs(path: Path, ids: np.ndarray, width: int, vocabulary: int) -> tuple[np.ndarray, np.ndarray]:
    """The same from llama.cpp."""
    with context(path, len(ids)) as ctx:
        batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = int(token), i, 1
            batch.seq_id[i][0], batch.logits[i] = 0, 1
        assert llama_cpp.llama_decode(ctx, batch) == 0
        states = np.ctypeslib.as_array(llama_cpp.llama_get_embeddings(ctx), (len(ids), width)).copy()
        logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits(ctx), (len(ids), vocabulary)).copy()
        llama_cpp.llama_batch_free(batch)
    return states, logits


@contextmanager
def context(path: Path, tokens: int) -> Iterator[llama_cpp.llama_context_p]:
    model = llama_cpp.llama_model_load_from_file(bytes(path), llama_cpp.llama_model_default_params())
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = params.n_batch = params.n_ubatch = tokens
    params.embeddings = True
    params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
    params.pooling_type = llama_cpp.LLAMA_POOLING_TYPE_NONE
    ctx = llama_cpp.llama_init_from_model(model, params)
    assert ctx
    yield ctx
    llama_cpp.llama_free(ctx)
    llama_cpp.llama_model_free(model)


def write_float32(source: Path, destination: Path) -> Path:
    """With quantised weights llama.cpp also rounds activations to eight bits; not with these. No vocabulary."""
    header = read_header(source)
    tensors, writer = GgufTensors(source, header), gguf.GGUFWriter(destination, header.architecture)
    own = {name: value for name, value in header.values.items() if name.startswith(f"{header.architecture}.")}
    size = {f"{header.architecture}.vocab_size": header.tensors["token_embd.weight"].shape[0]}
    for name, value in {**own, **size, "tokenizer.ggml.model": "none"}.items():
        writer.add_key_value(name, value, TYPES[type(value)])
    for name in header.tensors:
        writer.add_tensor(name, tensors.read(name))
    write_all(writer)
    return destination
