"""A target with recurrent layers rolls back to past states, as far as the last evaluation left any."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from winnow_engine.core import Prompt, Sampling
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets.drafts.base import ChainDraft, Draft, NoDraft
from winnow_engine.targets.drafts.lookup import LookupDraft
from winnow_engine.targets.local.decoding import DecodedAnswer, decode

from ..loaded import LONG, PROMPT, PROMPTS, FlagInside, Loaded, Oracle, cancelled_at_random_moments

pytestmark = pytest.mark.usefixtures("exact")


@pytest.fixture
def loaded(tiny_qwen35: Path, exact: None) -> Iterator[Loaded]:
    with closing(Loaded(LlamaModel(tiny_qwen35))) as loaded:
        yield loaded


def oracle(tokens: list[int], seed: int) -> Draft:
    return ChainDraft(Oracle(tokens, seed))


def evaluate(loaded: Loaded, *batches: Prompt) -> NDArray[np.float32]:
    """The logits behind all batches, which are evaluated one after the other."""
    for batch in batches:
        assert loaded.cache.extend(batch, want_logits=True)
    return loaded.cache.context.logits().copy()


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_drafted_the_tokens_are_those_of_plain_decoding(
    loaded: Loaded, plain: list[int], seed: int
) -> None:
    answer = loaded.answer(oracle(plain, seed))
    assert answer.tokens == plain
    assert 0 < answer.accepted < answer.drafted
    assert loaded.cache.tokens.tolist() == [*PROMPT, *plain[:-1]]


def test_the_logits_behind_a_rollback_are_those_of_a_fresh_context(loaded: Loaded, plain: list[int]) -> None:
    """Within 1e-4 after some twenty rollbacks. A state that is one token off differs by 1 or more."""
    loaded.answer(oracle(plain, 5))
    held = np.append(loaded.cache.tokens, np.int32(77))
    behind = evaluate(loaded, held[-1:])
    loaded.cache.rewind(0)
    fresh = evaluate(loaded, *np.array_split(held, 5))
    np.testing.assert_allclose(behind, fresh, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("batch", "back", "kept"), [(9, 8, 20), (9, 9, 0), (4, 3, 20), (4, 4, 0), (1, 1, 0)])
def test_only_states_that_the_last_evaluation_left_are_gone_back_to(
    loaded: Loaded, batch: int, back: int, kept: int
) -> None:
    """llama.cpp would go back to whatever earlier evaluations left there."""
    evaluate(loaded, PROMPT[:19], PROMPT[19 : 19 + batch])
    loaded.cache.rewind(19 + batch - back)
    assert len(loaded.cache.tokens) == kept
    behind = evaluate(loaded, np.array([*PROMPT[len(loaded.cache.tokens) : 20], 77], np.int32))
    loaded.cache.rewind(0)
    np.testing.assert_allclose(behind, evaluate(loaded, np.array([*PROMPT[:20], 77], np.int32)), rtol=0, atol=1e-4)


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize(("length", "kept"), [(19, 15), (15, 15), (14, 0)])
def test_memory_goes_back_to_its_mark(loaded: Loaded, plain: list[int], length: int, kept: int, stopped: bool) -> None:
    loaded.cache.rewind(0)
    assert loaded.cache.prefill(PROMPT, at={9: loaded.cache.context.mark, 15: loaded.cache.context.mark})
    decode(DecodedAnswer(lambda _: None), loaded.cache, loaded.vocabulary, LONG, oracle(plain, 5))
    if stopped:
        flag = FlagInside()
        flag.set()
        loaded.cache.context.abort_with(flag)
        assert not loaded.cache.extend(PROMPT[:4], want_logits=True)
        assert len(loaded.cache.tokens) == 15
        loaded.cache.context.abort_with(AbortFlag())
    for _ in range(2):
        loaded.cache.rewind(length)
        assert len(loaded.cache.tokens) == kept
        behind = evaluate(loaded, np.array([*PROMPT[kept:20], 77], np.int32))
        evaluate(loaded, PROMPT[:12], PROMPT[:9])
    loaded.cache.rewind(length)
    loaded.cache.rewind(11)
    assert not len(loaded.cache.tokens)
    np.testing.assert_allclose(behind, evaluate(loaded, np.array([*PROMPT[:20], 77], np.int32)), rtol=0, atol=1e-4)


@pytest.mark.parametrize("flag", [AbortFlag, FlagInside])
def test_cancelling_at_random_moments_leaves_a_right_cache(
    loaded: Loaded, plain: list[int], flag: type[AbortFlag]
) -> None:
    held = list(cancelled_at_random_moments(loaded, plain, flag, lambda seed: oracle(plain, seed)))
    assert len(held) == PROMPTS
    assert loaded.answer(oracle(plain, 9)).tokens == plain


@pytest.mark.parametrize("batch", [1, 4])
def test_an_evaluation_stopped_inside_leaves_no_state_half_written(loaded: Loaded, batch: int) -> None:
    evaluate(loaded, PROMPT[:9], PROMPT[9:18])
    flag = FlagInside()
    flag.set()
    loaded.cache.context.abort_with(flag)
    assert not loaded.cache.extend(PROMPT[18 : 18 + batch], want_logits=True)
    loaded.cache.context.abort_with(AbortFlag())
    behind = evaluate(loaded, np.array([*PROMPT[len(loaded.cache.tokens) : 18], 77], np.int32))
    loaded.cache.rewind(0)
    np.testing.assert_allclose(behind, evaluate(loaded, np.array([*PROMPT[:18], 77], np.int32)), rtol=0, atol=1e-4)


def test_many_prompts_differ_nowhere_on_exact_weights(loaded: Loaded) -> None:
    random = np.random.default_rng(11)
    drafted = accepted = 0
    for _ in range(PROMPTS):
        prompt = random.integers(40, 44, 60).astype(np.int32)
        sampling = Sampling(max_tokens=24)
        plain = loaded.answer(NoDraft(), sampling, prompt)
        for draft in (ChainDraft(LookupDraft()), oracle(plain.tokens, 3)):
            answer = loaded.answer(draft, sampling, prompt)
            assert answer.tokens == plain.tokens
            drafted, accepted = drafted + answer.drafted, accepted + answer.accepted
    assert 0 < accepted < drafted
