"""Prompts that a draft is trained on: as the product makes them, the same for equal seeds."""

from pathlib import Path

import pytest

from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.training.draft.prompts import PromptData, PromptRecipe, prepare
from winnow_research.training.examples.base import ProjectTree


@pytest.fixture
def data(drafter: Path, tree: ProjectTree, cache: Path) -> PromptData:
    one = [tree.haystack.repository]
    return prepare(one, one, drafter, PromptRecipe(most_tokens=4000), lambda _: None, directory=cache)


def test_prompts_ask_about_functions_and_show_them(data: PromptData, drafter: Path) -> None:
    vocabulary = Vocabulary(LlamaModel(drafter, vocabulary_only=True))
    texts = [vocabulary.text(data.asked[number]) for number in range(len(data.asked))]
    assert {name for name in ("save_accounts", "monthly_summary", "PushItem") for text in texts if name in text}
    assert any("ledger/ledger/store.py" in text for text in texts)
    assert not any("test_a_file_without_accounts" in text for text in texts)
    assert all(text.rstrip().endswith("assistant") for text in texts)
    assert len(data.judged) == len(data.asked) >= 4
    assert data.ends == (511,)


def test_equal_seeds_give_equal_prompts_within_the_limit(drafter: Path, tree: ProjectTree, cache: Path) -> None:
    one = [tree.haystack.repository]
    made = [
        prepare(one, [], drafter, PromptRecipe(most_tokens=1500, seed=seed), lambda _: None, directory=cache)
        for seed in (0, 0, 1)
    ]
    assert made[0].asked.values.tolist() == made[1].asked.values.tolist() != made[2].asked.values.tolist()
    assert max(map(len, (made[0].asked[n] for n in range(len(made[0].asked))))) <= 1500
