"""A draft that takes time beside one that takes none: asked where it brings more than it takes."""

import time
from collections.abc import Sequence

import numpy as np
import pytest

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.tree import NOTHING, DraftTree, chain
from winnow_engine.targets.drafts.base import NoDraft
from winnow_engine.targets.drafts.control.adaptive import AdaptiveDraft
from winnow_engine.targets.drafts.control.asked_draft import AskedDraft

PROMPT = np.arange(5, dtype=np.int32)
COSTS = {1: 1.1, 3: 1.3, 7: 1.8, 15: 3.2}  # of passes on two cores with AVX-512


class Clock:
    """A clock that only the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """Claims `worth` for each of its tokens; reading a prompt and a proposal take their time."""

    def __init__(self, clock: Clock, worth: float, takes: float, reading: float = 0.0) -> None:
        self._clock, self._worth, self._takes, self._reading = clock, worth, takes, reading
        self.begun: list[list[int]] = []
        self.said: list[int] = []
        self.proposed = 0

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        self._clock.now += self._reading
        self.begun.append(prompt.tolist())
        self.said = []

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        self._clock.now += self._takes
        self.proposed += 1
        worth = [self._worth**n for n in range(1, limit + 1)]
        return chain(range(limit), worth)

    def accept(self, tokens: Sequence[int]) -> None:
        self.said += tokens

    def close(self) -> None: ...


class Found(NoDraft):
    """Finds four tokens worth `worth` each in every `every`th round."""

    def __init__(self, worth: float, every: int = 1) -> None:
        self._worth, self._every, self.rounds = worth, every, 0

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        self.rounds += 1
        if self.rounds % self._every:
            return NOTHING
        return chain(range(100, 104), [self._worth] * 4).first(limit)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


def cost(nodes: int) -> float:
    return float(np.interp(nodes, [0, *COSTS], [1.0, *COSTS.values()]))


def answer(draft: AdaptiveDraft, clock: Clock, right: float, tokens: int = 160) -> float:
    """Plain rounds that an answer of so many tokens takes, of those drafted a share `right` of which is right."""
    random, begun = np.random.default_rng(5), clock.now
    draft.begin(PROMPT, AbortFlag())
    draft.accept([0])
    made = 1
    while made < tokens:
        tree = draft.propose(16)
        clock.now += cost(len(tree))
        accepted = 0
        while accepted < len(tree) and random.random() < (1 if tree.tokens[0] >= 100 else right):
            accepted += 1
        made += 1 + accepted
        draft.accept([0] * (1 + accepted))
    return clock.now - begun


def adaptive(free: NoDraft, slow: Slow, *, chosen: bool = False) -> AdaptiveDraft:
    draft = AdaptiveDraft(free, AskedDraft(slow, chosen=chosen))
    draft.know(COSTS)
    return draft


def test_one_that_pays_is_asked_in_most_rounds(clock: Clock) -> None:
    slow = Slow(clock, worth=0.8, takes=0.15, reading=1.0)
    draft = adaptive(NoDraft(), slow)
    answer(draft, clock, 0.8)
    before = slow.proposed
    assert answer(draft, clock, 0.8) < 160 / 1.7
    assert 40 < slow.proposed - before < 80


def test_it_is_not_asked_where_more_is_found_without_asking(clock: Clock) -> None:
    slow = Slow(clock, worth=0.8, takes=0.15)
    draft = adaptive(Found(0.98), slow)
    assert answer(draft, clock, 0.8) < 160 / 2
    assert slow.proposed == 0
    assert slow.begun == []


def test_both_together_are_faster_than_either(clock: Clock) -> None:
    both, only_slow, only_found = (
        [answer(draft, clock, 0.7) for _ in range(3)][-1]
        for draft in (
            adaptive(Found(0.98, 3), Slow(clock, worth=0.7, takes=0.15)),
            adaptive(NoDraft(), Slow(clock, worth=0.7, takes=0.15)),
            AdaptiveDraft(Found(0.98, 3)),
        )
    )
    assert both < 0.95 * min(only_slow, only_found)


@pytest.mark.parametrize(
    ("worth", "right", "takes"), [(0.9, 0.0, 0.2), (0.9, 0.2, 0.2), (0.5, 0.5, 0.8), (0.9, 0.9, 4)]
)
def test_one_that_does_not_pay_costs_little_and_less_and_less(
    clock: Clock, worth: float, right: float, takes: float
) -> None:
    draft = adaptive(NoDraft(), Slow(clock, worth, takes, reading=1.0))
    lost = [answer(draft, clock, right) - 159 for _ in range(20)]
    assert max(lost) < 6 + 0.02 * 160
    assert sum(lost) < 0.02 * 160 * 20


def test_what_is_read_before_counts_unless_the_draft_was_chosen(clock: Clock) -> None:
    asked = {}
    for chosen in (True, False):
        slow = Slow(clock, worth=0.8, takes=0.1, reading=30.0)
        answer(adaptive(NoDraft(), slow, chosen=chosen), clock, 0.8)
        asked[chosen] = slow.proposed
    assert asked[True] > 30
    assert asked[False] == 1


def test_an_answer_is_begun_where_it_is_first_asked(clock: Clock) -> None:
    slow = Slow(clock, worth=0.9, takes=0.1)
    draft = adaptive(NoDraft(), slow)
    draft.begin(PROMPT, AbortFlag())
    draft.accept([50])
    for token in (51, 52, 53, 54):  # plain rounds are timed first
        assert slow.begun == ([] if token < 54 else slow.begun)
        draft.propose(8)
        clock.now += 1
        draft.accept([token])
    assert slow.begun == [[*PROMPT.tolist(), 50, 51, 52]]
    assert slow.said == [53, 54]


def test_longer_proposals_are_asked_for_where_much_of_them_pays(clock: Clock) -> None:
    lengths = {}
    for worth in (0.5, 0.95):
        slow = Slow(clock, worth, takes=0.1)
        asked = AskedDraft(slow, chosen=False)
        draft = AdaptiveDraft(NoDraft(), asked)
        draft.know(COSTS)
        answer(draft, clock, worth)
        asked.read()
        lengths[worth] = len(asked.propose(16, 0.0))
    assert lengths[0.5] <= 5
    assert lengths[0.95] >= 10


def test_an_answer_that_lost_does_not_end_what_pays_elsewhere(clock: Clock) -> None:
    """Nor does other work, which makes a few rounds slow."""
    slow = Slow(clock, worth=0.85, takes=0.1, reading=2.0)
    draft = adaptive(NoDraft(), slow)
    answer(draft, clock, 0.85)
    answer(draft, clock, 0.0, tokens=40)
    before = slow.proposed
    answer(draft, clock, 0.85)
    assert slow.proposed - before > 20
