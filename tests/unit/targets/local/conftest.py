"""The tiny llama, opened."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.targets.drafts.base import NoDraft

from ..loaded import Loaded


@pytest.fixture
def vocabulary(tiny_llama: Path) -> Iterator[Vocabulary]:
    model = LlamaModel(tiny_llama)
    yield Vocabulary(model)
    model.close()


@pytest.fixture
def loaded(tiny_llama: Path) -> Iterator[Loaded]:
    with closing(Loaded(LlamaModel(tiny_llama))) as loaded:
        yield loaded


@pytest.fixture
def plain(loaded: Loaded) -> list[int]:
    return loaded.answer(NoDraft()).tokens
