"""Speculative decoding on tiny real models: whatever is drafted, the answer is the target's own."""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from winnow_engine.core import Sampling
from winnow_engine.llama import context
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.draft_tree import ROOT, DraftTree
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets.drafts.base import Draft, NoDraft
from winnow_engine.targets.drafts.lookup import LookupDraft

from ..loaded import PROMPT, PROMPTS, FlagInside, Loaded, Oracle, cancelled_at_random_moments


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_drafted_the_tokens_are_those_of_plain_decoding(
    loaded: Loaded, plain: list[int], seed: int
) -> None:
    answer = loaded.answer(Oracle(plain, seed))
    assert answer.tokens == plain
    assert 0 < answer.accepted < answer.drafted
    assert answer.rounds == len(plain) - 1 - answer.accepted


def test_memory_holds_exactly_the_prompt_and_all_tokens_but_the_last(loaded: Loaded, plain: list[int]) -> None:
    loaded.answer(Oracle(plain, 3))
    assert loaded.cache.tokens.tolist() == [*PROMPT, *plain[:-1]]
    longer = np.array([*PROMPT, *plain[:-1], 77], np.int32)
    continued = loaded.answer(NoDraft(), prompt=longer).tokens
    loaded.cache.reuse(np.array([1, 2], np.int32))
    assert continued == loaded.answer(NoDraft(), prompt=longer).tokens


@pytest.mark.parametrize("seed", range(4))
def test_a_stop_string_within_an_accepted_run_ends_the_answer_before_it(
    loaded: Loaded, plain: list[int], seed: int
) -> None:
    text = loaded.answer(NoDraft()).text
    stopped = loaded.answer(Oracle(plain, seed), Sampling(max_tokens=80, stop=(text[11:14],)))
    assert (stopped.text, stopped.finish) == (text[: text.index(text[11:14])], "stop")


def test_an_end_within_an_accepted_run_ends_the_answer(
    loaded: Loaded, plain: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    end = plain[20]
    monkeypatch.setattr(loaded.vocabulary, "is_end", lambda token: token == end)
    for seed in range(4):
        answer = loaded.answer(Oracle(plain, seed))
        assert (answer.tokens, answer.finish) == (plain[: plain.index(end) + 1], "eos")


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_seed_draws_the_same_answer_with_a_draft(loaded: Loaded, seed: int) -> None:
    sampling = Sampling(temperature=1.0, top_p=0.9, seed=seed, max_tokens=60)
    drawn = loaded.answer(NoDraft(), sampling).tokens
    assert loaded.answer(Oracle(drawn, seed), sampling).tokens == drawn


def test_sampled_answers_keep_the_targets_distribution(loaded: Loaded) -> None:
    """4,000 two-token answers with a draft of three branches and 4,000 without: chi-square over the common ones."""

    class Branches(NoDraft):
        def propose(self, limit: int, least: float = 0.0) -> DraftTree:
            return DraftTree(common[:limit], (ROOT,) * len(common[:limit]), (1.0,) * len(common[:limit]))

    def second(draft: Draft, seeds: range) -> Counter[int]:
        drawn = (loaded.answer(draft, Sampling(2.0, 0.9, seed, max_tokens=3)).tokens[1] for seed in seeds)
        return Counter(drawn)

    common: tuple[int, ...] = ()
    without = second(NoDraft(), range(4000))
    common = tuple(token for token, _ in without.most_common(3))
    with_draft = second(Branches(), range(10_000, 14_000))
    tokens = [token for token, times in without.items() if times + with_draft[token] >= 20]
    chi = sum((without[t] - with_draft[t]) ** 2 / (without[t] + with_draft[t]) for t in tokens)
    freedom = len(tokens) - 1
    assert freedom > 10
    assert chi < freedom + 4 * np.sqrt(2 * freedom)  # four deviations


def test_an_error_in_on_text_within_an_accepted_run_leaves_a_right_cache(loaded: Loaded, plain: list[int]) -> None:
    shown: list[str] = []

    def fail(text: str) -> None:
        shown.append(text)
        if len(shown) == 10:
            raise KeyError("gone")

    with pytest.raises(KeyError):
        loaded.answer(Oracle(plain, 2), on_text=fail)
    assert loaded.answer(NoDraft()).tokens == plain


@pytest.mark.parametrize("flag", [AbortFlag, FlagInside])
def test_cancelling_at_random_moments_leaves_a_right_cache(
    loaded: Loaded, plain: list[int], flag: type[AbortFlag]
) -> None:
    for held in cancelled_at_random_moments(loaded, plain, flag, lambda seed: Oracle(plain, seed)):
        assert held >= len(PROMPT)
    assert loaded.answer(Oracle(plain, 9)).tokens == plain


def test_an_answer_may_fill_the_context_to_the_last_cell(loaded: Loaded) -> None:
    prompt = np.full(loaded.cache.context.n_ctx - 20, 65, np.int32)
    plain = loaded.answer(NoDraft(), Sampling(max_tokens=20), prompt).tokens
    answer = loaded.answer(Oracle(plain, 4), Sampling(max_tokens=20), prompt)
    assert answer.tokens == plain
    assert len(plain) == 20


@pytest.mark.parametrize("draft", [LookupDraft, lambda: Oracle(range(40, 64), 0)], ids=["lookup", "mostly wrong"])
def test_many_prompts_differ_nowhere_on_exact_weights(loaded: Loaded, draft: Callable[[], Draft]) -> None:
    random = np.random.default_rng(11)
    drafted = 0
    for _ in range(PROMPTS):
        prompt = random.integers(40, 44, 60).astype(np.int32)
        sampling = Sampling(max_tokens=24)
        plain, answer = loaded.answer(NoDraft(), sampling, prompt), loaded.answer(draft(), sampling, prompt)
        assert answer.tokens == plain.tokens
        drafted += answer.drafted
    assert drafted > 0


@pytest.mark.parametrize("seed", range(8))
def test_with_cuda_passes_have_few_sizes_and_answers_stay_the_same(
    tiny_llama: Path, plain: list[int], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "pass_sizes", lambda model, options: (8, 16))
    sizes, evaluate = Counter[int](), context.LlamaContext._evaluate
    with closing(Loaded(LlamaModel(tiny_llama))) as sized:

        def counted(self: LlamaContext, batch: llama_cpp.llama_batch, *kept: object) -> bool:
            sizes[batch.n_tokens] += 1
            return evaluate(self, batch, *kept)

        sized.answer(NoDraft())
        monkeypatch.setattr(context.LlamaContext, "_evaluate", counted)
        answer = sized.answer(Oracle(plain, seed))
        assert answer.tokens == plain
        assert sized.cache.tokens.tolist() == [*PROMPT, *plain[:-1]]
    assert 0 < answer.accepted < answer.drafted
    assert {1, 8} <= set(sizes) <= {1, 8, 16}
