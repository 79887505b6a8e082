"""The small model's draft: the tiny llama as a draft, compared with its answers as a target."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import ROOT
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.targets.base import Request
from winnow_engine.targets.drafts.small_model import SmallModelDraft
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget

OPTIONS = TargetOptions(n_threads=1, n_ubatch=32, speculate="off")
PROMPT = np.arange(40, 90, dtype=np.int32)


@pytest.fixture
def draft(tiny_llama: Path) -> Iterator[SmallModelDraft]:
    with closing(SmallModelDraft(LlamaModel(tiny_llama), OPTIONS)) as draft:
        draft.begin(PROMPT, AbortFlag())
        yield draft


def test_the_likeliest_guess_at_each_depth_is_the_models_own_greedy_answer(
    tiny_llama: Path, draft: SmallModelDraft
) -> None:
    answer: list[int] = []
    for _ in range(4):
        answer.append(draft.propose(1).tokens[0])
        draft.accept(answer[-1:])
    with closing(LlamaTarget.open(tiny_llama, OPTIONS)) as target:
        said = target.generate(Request(LocalPrompt(PROMPT), Sampling(max_tokens=4)))
    vocabulary = Vocabulary(LlamaModel(tiny_llama, vocabulary_only=True))
    assert b"".join(map(vocabulary.piece, answer)).decode("utf-8", "replace").startswith(said.text)


def test_a_tree_is_ordered_by_worth_with_parents_first(draft: SmallModelDraft) -> None:
    tree = draft.propose(12)
    assert len(tree) == 12
    assert list(tree.worth) == sorted(tree.worth, reverse=True)
    assert len({*zip(tree.parents, tree.tokens, strict=True)}) == 12
    assert all(tree.worth[node] <= tree.worth[parent] for node, parent in enumerate(tree.parents) if parent != ROOT)


def test_nothing_is_proposed_without_room_or_once_aborted(draft: SmallModelDraft) -> None:
    assert len(draft.propose(0)) == 0
    flag = AbortFlag()
    flag.set()
    draft.begin(PROMPT, flag)
    assert len(draft.propose(8)) == 0
