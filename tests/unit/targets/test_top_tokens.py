"""A context says which tokens are the likeliest instead of giving logits, where the build of llama.cpp can."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.errors import TargetError
from winnow_engine.llama import context, patched_functions
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.draft_tree import DraftTree
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.model import LlamaModel

from .loaded import OPTIONS

PROMPT = np.arange(40, 60, dtype=np.int32)
TREE = DraftTree((50, 51, 52, 53, 54), (-1, 0, 1, 0, -1), (0.9, 0.8, 0.7, 0.6, 0.5))


@pytest.fixture(params=["", "qwen3"])
def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[LlamaContext]:
    """A context that chooses as it would on a GPU, whose graphs the processor computes."""
    if patched_functions._functions() is None:
        pytest.skip("this build of llama.cpp gives logits only")
    monkeypatch.setattr(context, "pass_sizes", lambda *_: (8, 16))
    path: Path = request.getfixturevalue(f"tiny_{request.param or 'llama'}")
    with closing(LlamaModel(path)) as model, closing(LlamaContext(model, 128, OPTIONS, 16)) as made:
        yield made


def test_they_are_those_with_the_largest_logits(opened: LlamaContext) -> None:
    cache = KvCache(opened)
    cache.prefill(PROMPT)
    rows = range(1 + len(TREE))
    cache.verify(70, TREE)
    wanted = [int(opened.logits(row).argmax()) for row in rows]
    last = int(opened.logits().argmax())
    stale = [opened.logits(row).copy() for row in rows]
    cache.rewind(len(PROMPT) - 4)
    with opened.choosing():
        for start in range(len(PROMPT) - 4, len(PROMPT)):  # passes of another size between
            cache.extend(PROMPT[start : start + 1], want_logits=True)
            opened.likeliest()
        cache.verify(70, TREE)
        assert [opened.likeliest(row) for row in rows] == wanted
        assert opened.likeliest() == last
        assert len(set(wanted)) > 1
        np.testing.assert_array_equal([opened.logits(row) for row in rows], stale)  # they were not copied
        cache.keep(TREE, [])
    cache.rewind(len(PROMPT))
    cache.verify(70, TREE)
    assert [int(opened.logits(row).argmax()) for row in rows] == wanted == [opened.likeliest(row) for row in rows]


def test_logits_that_are_no_numbers_are_told(opened: LlamaContext, monkeypatch: pytest.MonkeyPatch) -> None:
    opened.decode(PROMPT, want_logits=True)
    monkeypatch.setattr(opened._choices, "last", lambda: [-1])
    with pytest.raises(TargetError, match="not numbers"):
        opened.likeliest()
