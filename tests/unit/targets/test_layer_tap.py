"""Layers' inputs that are copied while llama.cpp evaluates: those of NumPy, and those that llama.cpp keeps."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import llama_cpp
import numpy as np
import pytest
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.errors import TargetError
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.draft_tree import ROOT, DraftTree
from winnow_engine.llama.layer_inputs import LayerInputs, LayerTap
from winnow_engine.llama.model import LlamaModel

from .drafts.numpy_drafts import Network, features
from .drafts.pair import prompt

READ, WIDTH = (1, 3), 32


class Watching:
    """Keeps what a context's layers read, of all that its memory holds."""

    def __init__(self, layers: tuple[int, ...]) -> None:
        self._layers = layers
        self.held_states: list[NDArray[np.float32]] = []

    def opening(self, params: llama_cpp.llama_context_params) -> None:
        self.tap = LayerTap(params, self._layers, WIDTH)

    def opened(self, context: int, n_ctx: int) -> None:
        pass

    def held(self, start: int, rows: NDArray[np.intp], tokens: NDArray[np.int32], following: int) -> None:
        self.held_states.append(self.tap.rows(rows))

    def forgot(self, length: int) -> None:
        pass

    def closing(self) -> None:
        pass


Opened = Callable[[Path, tuple[int, ...]], tuple[LlamaContext, Watching]]


@pytest.fixture
def opened(request: pytest.FixtureRequest) -> Opened:
    def opened(path: Path, layers: tuple[int, ...] = READ) -> tuple[LlamaContext, Watching]:
        model, watching = LlamaModel(path), Watching(layers)
        model.watcher = watching
        context = LlamaContext(model, 256, TargetOptions(n_threads=1, n_ubatch=64), 16)
        request.addfinalizer(model.close)
        request.addfinalizer(context.close)
        return context, watching

    return opened


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("architecture", ["qwen2", "qwen3"])
@pytest.mark.parametrize("length", [1, 17, 64])
def test_they_are_those_of_numpy(
    opened: Opened, request: pytest.FixtureRequest, architecture: str, length: int
) -> None:
    path = request.getfixturevalue(f"tiny_{architecture}")
    context, watching = opened(path, READ)
    context.decode(prompt(1, length), want_logits=True)
    wanted = features(Network(path), prompt(1, length))
    assert wanted.std() > 1
    np.testing.assert_allclose(watching.held_states[-1], wanted, atol=1e-3)


def test_they_are_those_that_llama_keeps(opened: Opened, tiny_qwen3: Path) -> None:
    context, watching = opened(tiny_qwen3, READ)
    kept = LayerInputs(context.handle, READ, WIDTH)
    context.decode(prompt(2, 40), want_logits=True)
    np.testing.assert_array_equal(watching.held_states[-1], kept.rows(np.arange(40)))


def test_the_rows_of_a_branch_are_told_apart(opened: Opened, tiny_qwen2: Path) -> None:
    """Of a tree with two branches of which one is kept; what layers read of it is what a plain text gives."""
    context, watching = opened(tiny_qwen2, READ)
    context.decode(prompt(1, 20), want_logits=True)
    tree = DraftTree((7, 8, 9), (ROOT, ROOT, 1), (1.0, 1.0, 1.0))
    assert context.decode_tree(5, tree, 20)
    assert context.keep_branch(2, 21, 23)
    kept = watching.held_states[-1]
    context.clear()
    context.decode(np.array([*prompt(1, 20), 5, 8, 9], np.int32), want_logits=True)
    np.testing.assert_allclose(kept, watching.held_states[-1][20:], atol=2e-2)


def test_logits_are_the_same_with_and_without(opened: Opened, tiny_qwen2: Path) -> None:
    context, _ = opened(tiny_qwen2, READ)
    context.decode(prompt(3), want_logits=True)
    tapped = context.logits().copy()
    options = TargetOptions(n_threads=1, n_ubatch=64)
    with closing(LlamaModel(tiny_qwen2)) as model, closing(LlamaContext(model, 256, options, 16)) as plain:
        plain.decode(prompt(3), want_logits=True)
        np.testing.assert_array_equal(tapped, plain.logits())


def test_layers_that_the_graph_does_not_name_are_named(opened: Opened, tiny_qwen2: Path) -> None:
    context, _ = opened(tiny_qwen2, (2, 9))
    with pytest.raises(TargetError, match=r"does not give the inputs of this target's layers \[2, 9\], .* another"):
        context.decode(prompt(1), want_logits=True)
