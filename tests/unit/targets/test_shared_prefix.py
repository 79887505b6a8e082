"""Branches of a tree see what stands before them, whether they share it or are copies of it."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from llama_cpp import llama_cpp
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.draft_tree import NOTHING, ROOT, DraftTree
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.patched_functions import SharedPrefix

from .drafts.pair import prompt

OPTIONS = TargetOptions(n_threads=1, n_ubatch=64)
# Two branches of three and two nodes, and a child of the first one's second node.
TREE = DraftTree((11, 21, 12, 22, 13, 14), (ROOT, ROOT, 0, 1, 2, 2), (0.9, 0.8, 0.7, 0.6, 0.5, 0.4))
PATHS = [[], [0], [0, 2, 5], [1, 3]]


def answered(path: Path) -> list[NDArray[np.float32]]:
    """All logits of two trees and a plain step, where each of the paths is kept of the first tree."""
    found = []
    with closing(LlamaModel(path)) as model, closing(LlamaContext(model, 256, OPTIONS, 16)) as context:
        for kept in PATHS:
            cache = KvCache(context)
            cache.rewind(0)
            assert cache.prefill(prompt(1, 40))
            for tree, chosen in ((TREE, kept), (TREE, [1]), (NOTHING, [])):
                assert cache.verify(7, tree)
                rows = range(1 + len(tree)) if len(tree) else [-1]
                found += [context.logits(row).copy() for row in rows]
                cache.keep(tree, chosen)
            assert len(cache.tokens) == 40 + 3 + len(kept) + 1
    return found


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has branches be copies, as with other builds of llama.cpp."""
    return lambda: monkeypatch.setattr(SharedPrefix, "share", lambda trunk, end: False)


@pytest.mark.skipif(not hasattr(llama_cpp._lib, "winnow_set_trunk"), reason="not built by winnow_llama")
@pytest.mark.parametrize("model", ["tiny_llama", "tiny_qwen2"])
def test_logits_are_the_same_either_way(model: str, request: pytest.FixtureRequest, copied: Callable[[], None]) -> None:
    path = request.getfixturevalue(model)
    shared = answered(path)
    copied()
    for one, other in zip(shared, answered(path), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shares", [True, False])
def test_a_node_sees_its_ancestors_and_what_stands_before_alone(
    tiny_llama: Path, copied: Callable[[], None], shares: bool
) -> None:
    if not shares:
        copied()
    with closing(LlamaModel(tiny_llama)) as model, closing(LlamaContext(model, 256, OPTIONS, 16)) as context:
        cache = KvCache(context)
        assert cache.prefill(prompt(1, 40))
        assert cache.verify(7, TREE)
        of_node = context.logits(4).copy()  # node 3, behind node 1
        cache.keep(TREE, [])
        assert cache.extend(np.array([21, 22], np.int32), want_logits=True)
        np.testing.assert_allclose(of_node, context.logits(), rtol=1e-3, atol=1e-3)
