from collections.abc import Iterator

import numpy as np
import pytest

from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import ROOT
from winnow_engine.targets.drafts.lookup import LookupDraft


def draft_after(prompt: list[int], answer: list[int]) -> LookupDraft:
    draft = LookupDraft()
    draft.begin(np.array(prompt, np.int32), AbortFlag())
    draft.accept(answer)
    return draft


def test_a_quote_of_the_prompt_goes_on_as_the_prompt_does() -> None:
    tree = draft_after([1, 2, 3, 4, 5, 6, 7, 50, 51], [2, 3, 4]).propose(3)
    assert (tree.tokens, tree.parents) == ((5, 6, 7), (ROOT, 0, 1))
    assert 1 > tree.worth[0] > tree.worth[1] > tree.worth[2] > 0


@pytest.mark.parametrize(
    ("prompt", "answer", "limit", "proposed"),
    [
        pytest.param([1, 2, 3, 7, 9, 2, 3, 8], [50, 1, 2, 3], 1, (7,), id="the longest match"),
        pytest.param([0], [5, 6, 7, 8, 9, 5, 6], 2, (7, 8), id="the answer itself"),
        pytest.param([], [1, 2, 3, 1, 2], 1, (3,), id="an answer without a prompt"),
        pytest.param([1, 2, 3], [9], 8, (), id="without a match"),
        pytest.param([1], [], 8, (), id="without an answer"),
        pytest.param([1, 1], [1], 8, (1,), id="no token beyond the end"),
        pytest.param([1, 2, 3, 90, 6, 7], [1, 2, 3, 91], 4, (), id="a short match with another token in it"),
    ],
)
def test_what_is_proposed(prompt: list[int], answer: list[int], limit: int, proposed: tuple[int, ...]) -> None:
    assert draft_after(prompt, answer).propose(limit).tokens == proposed


def test_places_that_go_on_differently_are_branches_by_how_many_they_are() -> None:
    tree = draft_after([1, 2, 7, 0, 1, 2, 8, 3, 1, 2, 8, 9], [1, 2]).propose(3)
    assert (tree.tokens[0], tree.parents[0]) == (8, ROOT)
    assert (7, ROOT) in zip(tree.tokens, tree.parents, strict=True)


def test_a_new_answer_looks_up_in_its_own_prompt_only() -> None:
    draft = draft_after([1, 2, 3], [1, 2])
    draft.begin(np.array([7, 1, 2], np.int32), AbortFlag())
    assert len(draft.propose(8)) == 0


def repetitive(seed: int) -> Iterator[list[int]]:
    """A random text of pieces, most of which have occurred before, whole or with one token changed."""
    rng = np.random.default_rng(seed)
    words, text = int(rng.integers(2, 40)), rng.integers(0, 9, int(rng.integers(1, 60))).tolist()
    yield list(text)
    for _ in range(30):
        start = int(rng.integers(0, len(text)))
        piece = text[start : start + int(rng.integers(1, 24))]
        if rng.random() < 0.7:
            piece[int(rng.integers(0, len(piece)))] = int(rng.integers(0, words))
        text += piece
        yield piece


def naive_match(text: list[int]) -> tuple[list[int], int, bool] | None:
    """The match at the end of `text`, found place by place and token by token: places, length, whether it is gapped."""
    lengths: dict[bool, dict[int, int]] = {False: {}, True: {}}
    for place in range(len(text) - 1, 0, -1):
        same = [text[place - 1 - back] == text[-1 - back] for back in range(min(place, 16))]
        gap = same.index(False) if False in same else len(same)
        end = same.index(False, gap + 1) if False in same[gap + 1 :] else len(same)
        lengths[False][place], lengths[True][place] = gap, sum(same[:end])
    exact, gapped = (max(found.values(), default=0) for found in lengths.values())
    kind, longest = (True, gapped) if gapped >= exact + 4 else (False, exact)
    places = [place for place, length in lengths[kind].items() if length == longest]
    return (places[:16], longest, kind) if longest >= 2 else None


@pytest.mark.parametrize("seed", range(12))
def test_matches_are_those_found_by_comparing_token_by_token(seed: int) -> None:
    draft, text = LookupDraft(), list[int]()
    kinds = set()
    for piece in repetitive(seed):
        draft.accept(piece) if text else draft.begin(np.array(piece, np.int32), AbortFlag())
        text += piece
        match, wanted = draft._match, naive_match(text)
        assert (match and (match.places, match.length, match.gapped)) == wanted
        kinds.add(wanted and wanted[2])
    assert {False, True} <= kinds
