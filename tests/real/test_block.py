"""A block draft beside a real target. Its weights are random: it guesses badly."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.core import Prompt
from winnow_engine.llama.layer_inputs import LayerInputs
from winnow_engine.targets.drafts.block import BlockDraft, open_block

from ..unit.targets.drafts.block_files import write_block
from ..unit.targets.drafts.pair import Pair, differs_where_batches_round_otherwise_alone

pytestmark = pytest.mark.real_weights

WIDTH, READ = 576, (4, 16, 28)


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "random-block.gguf"
    return write_block(path, READ, WIDTH, spread=0.05, own=4096, block=8)


@pytest.fixture(params=["kept", "copied"])
def pair(
    smollm2: Path, draft: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Pair[BlockDraft]]:
    """Of this architecture llama.cpp keeps what layers read; copied, it must be the same."""
    if request.param == "copied":
        monkeypatch.setattr("winnow_engine.targets.drafts.shared.hidden_state_draft.given_by", frozenset)
    with closing(Pair(smollm2, draft, open_block)) as pair:
        yield pair


@pytest.fixture
def prompt(pair: Pair[BlockDraft]) -> Prompt:
    return pair.vocabulary.tokenize("def fibonacci(n):\n    if n < 2:\n        return n\n    return fib")


def test_answers_differ_where_batches_round_otherwise_alone(pair: Pair[BlockDraft], prompt: Prompt) -> None:
    differs_where_batches_round_otherwise_alone(pair, prompt)


def test_what_is_read_is_what_llama_keeps(pair: Pair[BlockDraft], prompt: Prompt) -> None:
    kept = LayerInputs(pair.cache.context.handle, READ, WIDTH)
    pair.prefill(prompt)
    assert pair.draft._inputs is not None
    read = pair.draft._inputs.rows(np.arange(len(prompt)))
    np.testing.assert_array_equal(read, kept.rows(np.arange(len(prompt))))
    assert read.std() > 0.1
