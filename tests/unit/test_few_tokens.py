"""Products with tokens, by winnow_llama/cpu (few_tokens.h, many_tokens.h, attention.h) where llama.cpp has them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from gguf.constants import GGMLQuantizationType
from gguf.quants import dequantize
from llama_cpp import llama_cpp as bindings
from numpy.typing import NDArray

from . import ggml

MOST = 16  # tokens
Floats = NDArray[np.float32]
WITH_VNNI = pytest.mark.skipif(
    b"AVX512_VNNI = 1" not in bindings.llama_print_system_info(), reason="with AVX2 Q4_K is multiplied repacked"
)


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ggml.cpu_library()


def quantised(kind: int, rows: int, columns: int, generator: np.random.Generator) -> NDArray[np.uint8]:
    """Any bytes are weights, but for d and dmin, which are to be small."""
    size = {ggml.Q4_K: 144, ggml.Q6_K: 210}[kind]
    blocks = np.frombuffer(generator.bytes(rows * columns // 256 * size), np.uint8).reshape(-1, size).copy()
    small = generator.uniform(1e-4, 1e-3, (len(blocks), 2)).astype(np.float16).view(np.uint8)
    if kind == ggml.Q4_K:
        blocks[:, :4] = small
    else:
        blocks[:, -2:] = small[:, :2]
    return blocks.reshape(rows, -1)


def product(
    library: ctypes.CDLL, kind: int, weights: NDArray[np.uint8], activations: Floats, threads: int = 2
) -> Floats:
    with ggml.graph(library) as graph:
        left = graph.tensor(kind, (activations.shape[1], len(weights)), weights)
        right = graph.floats(activations)
        return graph.compute(graph.call("ggml_mul_mat", left, right), (len(activations), len(weights)), threads)


@pytest.mark.parametrize("kind", [ggml.Q4_K, ggml.Q6_K])
@pytest.mark.parametrize(("rows", "columns"), [(64, 256), (7, 1536), (200, 2560), (65, 8960)])
@pytest.mark.parametrize("tokens", [1, 2, 3, 7, 8, 15, MOST, 17, 40, 517])
def test_tokens_are_multiplied_exactly(library: ctypes.CDLL, kind: int, rows: int, columns: int, tokens: int) -> None:
    generator = np.random.default_rng(rows + tokens)
    weights = quantised(kind, rows, columns, generator)
    activations = generator.normal(size=(tokens, columns)).astype(np.float32)
    activations[0, :256] = np.where(np.arange(256) % 2, 3, -3)  # whose sums of 16 bits are fullest
    exact = activations @ dequantize(weights, GGMLQuantizationType(kind)).T
    found = product(library, kind, weights, activations)
    # Activations are rounded to 8 bits.
    np.testing.assert_allclose(found, exact, rtol=0.02, atol=0.02 * float(np.abs(exact).max()))


@pytest.mark.parametrize("kind", [pytest.param(ggml.Q4_K, marks=WITH_VNNI), ggml.Q6_K])
@pytest.mark.parametrize("columns", [256, 1536, 8960])
def test_what_comes_out_for_a_token_does_not_depend_on_others(library: ctypes.CDLL, kind: int, columns: int) -> None:
    if not hasattr(library, "winnow_multiply_rows"):
        pytest.skip("llama.cpp was built for a processor without AVX2, or not by winnow_llama")
    generator = np.random.default_rng(columns)
    weights = quantised(kind, 150, columns, generator)
    activations = generator.normal(size=(MOST, columns)).astype(np.float32)
    together = product(library, kind, weights, activations)
    for tokens in range(1, MOST):
        assert np.array_equal(product(library, kind, weights, activations[:tokens]), together[:tokens])
    assert np.array_equal(product(library, kind, weights, activations, threads=5), together)
    many = product(library, kind, weights, np.vstack([activations, activations]))
    np.testing.assert_allclose(together, many[:MOST], rtol=2e-5, atol=2e-5 * float(np.abs(many).max()))


@WITH_VNNI
@pytest.mark.parametrize("kind", [ggml.Q4_K, ggml.Q6_K])
def test_what_comes_out_for_one_of_many_tokens_does_not_depend_on_others(library: ctypes.CDLL, kind: int) -> None:
    if not hasattr(library, "winnow_multiply_many"):
        pytest.skip("llama.cpp was not built by winnow_llama")
    generator = np.random.default_rng(kind)
    weights = quantised(kind, 150, 1536, generator)
    activations = generator.normal(size=(1100, 1536)).astype(np.float32)
    activations[3] = 0
    together = product(library, kind, weights, activations)
    assert not together[3].any()
    for tokens in (17, 23, 516, 517):
        assert np.array_equal(product(library, kind, weights, activations[:tokens]), together[:tokens])
    assert np.array_equal(product(library, kind, weights, activations, threads=5), together)


def attention(
    library: ctypes.CDLL, q: Floats, k: NDArray[np.float16], v: NDArray[np.float16], mask: Floats | None, threads: int
) -> Floats:
    """q: heads, tokens, columns; k, v: heads, keys, columns; mask: tokens, keys. Gives tokens, heads, columns."""
    heads, tokens, columns = q.shape
    with ggml.graph(library) as graph:
        hidden = None if mask is None else graph.floats(mask.astype(np.float16))
        tensors = graph.floats(q), graph.floats(k), graph.floats(v), hidden
        result = graph.call("ggml_flash_attn_ext", *tensors, columns**-0.5, 0.0, 0.0)
        return graph.compute(result, (tokens, heads, columns), threads)


def expected(q: Floats, k: NDArray[np.float16], v: NDArray[np.float16], mask: Floats | None) -> Floats:
    shared = len(q) // len(k)
    keys, values = (np.repeat(one.astype(np.float64), shared, 0) for one in (k, v))
    scores = q @ keys.transpose(0, 2, 1) * q.shape[-1] ** -0.5 + (0 if mask is None else mask)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return (scores / scores.sum(-1, keepdims=True) @ values).transpose(1, 0, 2).astype(np.float32)


def texts(
    heads: int, shared: int, tokens: int, keys: int, columns: int
) -> tuple[Floats, NDArray[np.float16], NDArray[np.float16], Floats]:
    """What a pass attends to. Tokens see what is before them, and one branch hides another; some cells are empty."""
    generator = np.random.default_rng(keys + tokens)
    q = generator.normal(size=(heads * shared, tokens, columns)).astype(np.float32) * 2
    k, v = (generator.normal(size=(heads, keys, columns)).astype(np.float16) for _ in range(2))
    mask = np.zeros((tokens, keys), np.float32)
    mask[:, generator.integers(0, keys, keys // 9)] = -np.inf
    for token in range(tokens):
        mask[token, keys - tokens + token + 1 :] = -np.inf
    mask[tokens // 2 :, keys - tokens : keys - tokens // 2] = -np.inf
    mask[:, 0] = 0
    return q, k, v, mask


@pytest.mark.parametrize("columns", [64, 128, 256])
@pytest.mark.parametrize(("heads", "shared"), [(2, 6), (4, 1), (1, 16)])
@pytest.mark.parametrize(
    ("tokens", "keys"), [(1, 700), (3, 96), (4, 1000), (8, 256), (MOST, 1536), (17, 64), (130, 1100)]
)
def test_queries_attend_together_as_alone(
    library: ctypes.CDLL, columns: int, heads: int, shared: int, tokens: int, keys: int
) -> None:
    q, k, v, mask = texts(heads, shared, tokens, keys, columns)
    wanted = expected(q, k, v, mask)
    tolerance = 2e-5 if hasattr(library, "winnow_multiply_rows") else 2e-2  # llama.cpp's own adds halves
    for threads in (1, 2, 7):
        np.testing.assert_allclose(attention(library, q, k, v, mask, threads), wanted, atol=tolerance)
