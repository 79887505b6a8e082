"""EAGLE-3 drafts on a tiny pair: the same numbers as in NumPy, and answers that are the target's own."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.errors import DraftError, UnsupportedModelError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.tree import NOTHING
from winnow_engine.targets.base import Request
from winnow_engine.targets.drafts.base import NoDraft
from winnow_engine.targets.drafts.eagle3 import Eagle3Draft, open_eagle3
from winnow_engine.targets.local.target import LlamaTarget

from ..loaded import Oracle
from .numpy_drafts import Array, Network, chain_logits, features
from .pair import ANSWER, Pair, accepted_of_many, assert_near, prompt, stopped_inside

READ, STEPS = (1, 2, 3), 4
MakeEagle3 = Callable[..., Path]
Eagle3Pair = Pair[Eagle3Draft]

pytestmark = pytest.mark.usefixtures("exact")


@pytest.fixture
def pair(tiny_qwen3: Path, make_eagle3: MakeEagle3) -> Iterator[Eagle3Pair]:
    with closing(Pair(tiny_qwen3, make_eagle3(), open_eagle3)) as pair:
        yield pair


@pytest.fixture
def reference(tiny_qwen3: Path, make_eagle3: MakeEagle3) -> Callable[..., Array]:
    """The logits of a chain behind a text and a token, in NumPy. The draft knows the text from `first` on."""
    draft, target = Network(make_eagle3()), Network(tiny_qwen3)

    def logits(text: Array, token: int, first: int = 0) -> Array:
        read = features(target, text, READ)[first:]
        return chain_logits(draft, target, read, np.array([*text[first + 1 :], token]), STEPS, first)

    return logits


def chain(pair: Eagle3Pair, token: int) -> Array:
    """The logits of a chain behind all that the target holds, and `token`."""
    memory, flag = pair.draft._memory, AbortFlag()
    assert memory is not None
    logits = [memory.begin(token, flag)]
    for _ in range(STEPS - 1):
        assert logits[-1] is not None
        logits[-1] = logits[-1].copy()
        logits.append(memory.go_on(int(logits[-1].argmax()), flag))
    return np.array(logits)


@pytest.mark.parametrize("length", [1, 31, 32, 33, 100])
def test_a_chains_logits_are_those_of_numpy(pair: Eagle3Pair, reference: Callable[..., Array], length: int) -> None:
    pair.prefill(prompt(1, length))
    assert_near(chain(pair, 77), reference(prompt(1, length), 77))


def test_a_draft_may_have_a_vocabulary_of_its_own(tiny_qwen3: Path, make_eagle3: MakeEagle3) -> None:
    """A draft whose file says which of the target's tokens it knows: the even ones."""
    path, target = make_eagle3(vocabulary=np.arange(0, 256, 2)), Network(tiny_qwen3)
    with closing(Pair(tiny_qwen3, path, open_eagle3)) as pair:
        pair.prefill(prompt(1))
        ours = chain(pair, 77)
        read = features(target, prompt(1), READ)
        assert_near(
            ours[:, :256:2], chain_logits(Network(path), target, read, np.array([*prompt(1)[1:], 77]), STEPS)[:, :256:2]
        )
        assert np.isneginf(ours[:, 1::2]).all()
        pair.draft.accept([77])
        pair.prefill(prompt(1, 51))
        assert all(token % 2 == 0 for token in pair.draft.propose(16).tokens)


def test_another_token_behind_gives_other_logits(pair: Eagle3Pair, reference: Callable[..., Array]) -> None:
    """The comparison with NumPy would notice an error: it differs by a hundred times the tolerance."""
    pair.prefill(prompt(1))
    assert np.abs(chain(pair, 77) - reference(prompt(1), 78)).max() > 0.1


@pytest.mark.parametrize("seed", range(4))
def test_what_is_read_follows_the_targets_memory(pair: Eagle3Pair, reference: Callable[..., Array], seed: int) -> None:
    """After accepted branches and refused ones, the draft knows what the target holds."""
    plain = pair.answer(NoDraft(), ANSWER, prompt(seed)).tokens
    answer = pair.answer(Oracle(plain, seed), ANSWER, prompt(seed))
    assert 0 < answer.accepted < answer.drafted
    assert_near(chain(pair, plain[-1]), reference(np.array([*prompt(seed), *plain[:-1]]), plain[-1]))


def test_chains_leave_nothing_behind(pair: Eagle3Pair, reference: Callable[..., Array]) -> None:
    """Drafting in every round gives the same chain as drafting once."""
    tokens = pair.answer(pair.draft, Sampling(max_tokens=30), prompt(2)).tokens
    held = np.array([*prompt(2), *tokens[:-1]], np.int32)
    assert_near(chain(pair, tokens[-1]), reference(held, tokens[-1]))


def test_a_chain_does_not_stand_in_the_way_of_rows_that_fill_a_batch(
    pair: Eagle3Pair, reference: Callable[..., Array]
) -> None:
    text = prompt(3, 110)
    pair.prefill(text[:50])
    pair.draft.accept(text[50:51].tolist())
    assert len(pair.draft.propose(8)) == 8
    pair.prefill(text)
    assert_near(chain(pair, 7), reference(text, 7))


def test_a_draft_that_was_stopped_goes_on_with_what_comes_next(
    pair: Eagle3Pair, reference: Callable[..., Array]
) -> None:
    stopped_inside(pair, prompt(4, 40))
    pair.prefill(prompt(4, 60))
    assert_near(chain(pair, 5), reference(prompt(4, 60), 5, first=40))


def test_answers_differ_nowhere_on_exact_weights(pair: Eagle3Pair) -> None:
    assert accepted_of_many(pair, 30, 4) > 0  # by chance: weights without meaning


def test_a_tree_is_ordered_by_worth(pair: Eagle3Pair) -> None:
    pair.prefill(prompt(1))
    pair.draft.begin(prompt(1), AbortFlag())
    pair.draft.accept([77])
    tree = pair.draft.propose(12)
    assert len(tree) == 12
    assert list(tree.worth) == sorted(tree.worth, reverse=True)
    assert pair.draft.propose(0) == NOTHING


@pytest.mark.usefixtures("all_drafts_pay")
def test_a_target_opens_one_by_its_architecture(tiny_qwen3: Path, make_eagle3: MakeEagle3) -> None:
    said = []
    for draft in ("off", make_eagle3()):
        with closing(LlamaTarget.open(tiny_qwen3, TargetOptions(n_threads=1, n_ubatch=8, speculate=draft))) as target:
            said.append(target.generate(Request(prompt(1), Sampling(max_tokens=30))))
    assert said[1].text == said[0].text
    assert said[1].draft == "tiny-eagle3.gguf"
    assert said[1].drafted_tokens > 0


def test_a_draft_is_no_target(make_eagle3: MakeEagle3) -> None:
    with pytest.raises(UnsupportedModelError, match="'eagle3' answers nothing by itself: give it as --speculate"):
        LlamaTarget.open(make_eagle3())


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        ({"read": (1, 2, 4)}, r"it reads the layers \[1, 2, 4\], .* of this target's layers 0 to 3"),
        ({"hidden": 48}, "it reads hidden states of 48 elements and has 32 of its own, the target's have 32"),
        ({"layers": 2}, "it needs one layer and as many tokens as the target, not 2 layers and 258 tokens"),
    ],
)
def test_a_draft_that_does_not_fit_is_refused_with_the_reason(
    tiny_qwen3: Path, make_eagle3: MakeEagle3, draft: dict[str, Any], reason: str
) -> None:
    path = make_eagle3(**draft)
    with pytest.raises(DraftError, match=f"tiny-eagle3.gguf .*{reason}"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(speculate=path))
