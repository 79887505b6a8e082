"""A block draft beside a real target. Its weights are random: it guesses badly."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.core import Prompt
from winnow_engine.targets.drafts.block import BlockDraft, open_block

from ..unit.targets.drafts.block_files import write_block
from ..unit.targets.drafts.pair import Pair, differs_where_batches_round_otherwise_alone

pytestmark = pytest.mark.real_weights

WIDTH, READ = 576, (4, 16, 28)


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "random-block.gguf"
    return write_block(path, READ, WIDTH, spread=0.05, own=4096, block=8)


@pytest.fixture
def pair(smollm2: Path, draft: Path) -> Iterator[Pair[BlockDraft]]:
    with closing(Pair(smollm2, draft, open_block)) as pair:
        yield pair


@pytest.fixture
def prompt(pair: Pair[BlockDraft]) -> Prompt:
    return pair.vocabulary.tokenize("def fibonacci(n):\n    if n < 2:\n        return n\n    return fib")


def test_answers_differ_where_batches_round_otherwise_alone(pair: Pair[BlockDraft], prompt: Prompt) -> None:
    differs_where_batches_round_otherwise_alone(pair, prompt)
