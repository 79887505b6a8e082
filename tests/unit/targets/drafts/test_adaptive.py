import time
from collections.abc import Sequence

import numpy as np
import pytest

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.tree import DraftTree, chain
from winnow_engine.targets.drafts.base import NoDraft
from winnow_engine.targets.drafts.control.adaptive import AdaptiveDraft
from winnow_engine.targets.drafts.control.asked_draft import AskedDraft

PROMPT = np.arange(5, dtype=np.int32)
ROUNDS = 100


class Clock:
    """A clock that only the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Guess:
    """A draft that claims 0.9 for each of four tokens, and counts what it is asked."""

    def __init__(self) -> None:
        self.begun = self.proposed = 0

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        self.begun += 1

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        self.proposed += 1
        return chain(range(4), [0.9**n for n in range(1, 5)]).first(limit)

    def accept(self, tokens: Sequence[int]) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


def answer(draft: AdaptiveDraft, clock: Clock, right: int, slope: float = 0.3) -> int:
    """The number of tokens drafted in an answer of which `right` are right in each round."""
    draft.begin(PROMPT, AbortFlag())
    draft.accept([0])
    drafted = 0
    for _ in range(ROUNDS):
        tree = draft.propose(16)
        clock.now += 1 + slope * len(tree)
        drafted += len(tree)
        draft.accept([0] * (1 + min(right, len(tree))))
    return drafted


def test_a_draft_that_is_right_goes_on(clock: Clock) -> None:
    for draft in (AdaptiveDraft(Guess()), AdaptiveDraft(NoDraft(), AskedDraft(Guess(), chosen=True))):
        assert answer(draft, clock, right=4) > 3.6 * ROUNDS


def test_a_free_draft_that_is_wrong_is_tried_again_in_the_same_answer(clock: Clock) -> None:
    guess = Guess()
    answer(AdaptiveDraft(guess), clock, right=0)
    assert 3 < guess.proposed < 30


def test_another_draft_that_is_wrong_is_left_alone_for_more_and_more_answers(clock: Clock) -> None:
    guess = Guess()
    draft = AdaptiveDraft(NoDraft(), AskedDraft(guess, chosen=True))
    begun = []
    for _ in range(16):
        answer(draft, clock, right=0)
        begun.append(guess.begun)
    assert begun == [1] * 5 + [2] * 9 + [3] * 2
    assert 3 * 2 <= guess.proposed <= 3 * 5


def test_a_draft_whose_tokens_cost_as_much_as_plain_ones_is_not_used(clock: Clock) -> None:
    draft = AdaptiveDraft(Guess())
    answer(draft, clock, right=4, slope=1.2)
    assert answer(draft, clock, right=4, slope=1.2) < ROUNDS / 4


def test_known_costs_are_used_from_the_first_answer_on(clock: Clock) -> None:
    new, knowing = AdaptiveDraft(Guess()), AdaptiveDraft(Guess())
    knowing.know({1: 3.0, 3: 7.0, 7: 15.0, 15: 31.0})
    assert answer(new, clock, right=0, slope=2.0) > 0
    assert answer(knowing, clock, right=0, slope=2.0) == 0
