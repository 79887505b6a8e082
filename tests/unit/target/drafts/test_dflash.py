"""DFlash drafts on a tiny pair: the same numbers as in NumPy, and answers that are the target's own."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winnow_engine.core import Cancellation
from winnow_engine.errors import DraftError
from winnow_engine.llama.model import Model
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.target import features as features_module
from winnow_engine.target.abort import AbortFlag
from winnow_engine.target.base import Prompt, Sampling
from winnow_engine.target.context import Context
from winnow_engine.target.decoding import Answer, decode
from winnow_engine.target.drafts.base import MOST_NODES, Draft, NoDraft
from winnow_engine.target.drafts.dflash import DFlashDraft, open_dflash
from winnow_engine.target.kv import KvCache, common_prefix
from winnow_engine.target.llama import LlamaTarget
from winnow_engine.target.options import TargetOptions
from winnow_engine.target.tree import NOTHING, ROOT, Tree

from .numpy_dflash import BLOCK, Array, Network, block_logits, features

OPTIONS = TargetOptions(n_threads=1, n_ubatch=32)
PROMPTS = int(os.environ.get("WINNOW_TEST_PROMPTS", "40"))
MakeDFlash = Callable[..., Path]


class Pair:
    """A target and a DFlash draft of it, as a session has them."""

    def __init__(self, target: Path, draft: Path, options: TargetOptions = OPTIONS) -> None:
        self.model = Model(target)
        self.vocabulary = Vocabulary(self.model)
        self.draft: DFlashDraft = open_dflash(Model(draft), self.model, draft, options)
        self.cache = KvCache(Context(self.model, 512, options, MOST_NODES))

    def answer(
        self, draft: Draft, prompt: Prompt, tokens: int = 60, on_text: Callable[[str], None] = lambda _: None
    ) -> Answer:
        flag = AbortFlag()
        self.cache.context.abort_with(flag)
        self.prefill(prompt)
        answer = Answer(on_text)
        draft.begin(prompt, flag)
        decode(answer, self.cache, self.vocabulary, Sampling(max_tokens=tokens), draft)
        return answer

    def prefill(self, prompt: Prompt) -> None:
        for start in range(self.cache.reuse(prompt), len(prompt), 32):
            assert self.cache.extend(prompt[start : start + 32], want_logits=start + 32 >= len(prompt))

    def block(self, token: int) -> Array:
        """The logits that a block behind all that the target holds gets."""
        logits = self.draft._memory.evaluate(token, AbortFlag())
        assert logits is not None
        return logits.copy()

    def close(self) -> None:
        self.cache.context.close()
        self.draft.close()
        self.model.close()


def prompt(seed: int, length: int = 50) -> Prompt:
    return np.random.default_rng(seed).integers(0, 256, length).astype(np.int32)


@pytest.fixture
def pair(tiny_qwen3: Path, make_dflash: MakeDFlash) -> Iterator[Pair]:
    with closing(Pair(tiny_qwen3, make_dflash())) as pair:
        yield pair


@pytest.fixture
def networks(tiny_qwen3: Path, make_dflash: MakeDFlash) -> tuple[Network, Network]:
    return Network(make_dflash()), Network(tiny_qwen3)


def assert_near(ours: Array, reference: Array) -> None:
    """Within 0.001, where the logits' standard deviation is above 2."""
    assert reference.std() > 2
    np.testing.assert_allclose(ours, reference, rtol=0, atol=1e-3)


class Oracle(NoDraft):
    """Drafts the known answer, now and then wrongly, beside a branch that is wrong."""

    def __init__(self, tokens: Sequence[int], seed: int) -> None:
        self._tokens, self._at = list(tokens), 0
        self._random = np.random.default_rng(seed)

    def propose(self, limit: int, least: float = 0.0) -> Tree:
        tokens, parents, parent = [], [], ROOT
        for token in self._tokens[self._at : self._at + int(self._random.integers(0, 6))]:
            right = token if self._random.random() < 0.8 else (token + 1) % 256
            tokens += [(token + 7) % 256, right]
            parents += [parent, parent]
            parent = len(tokens) - 1
        return Tree(tuple(tokens), tuple(parents), (1.0,) * len(tokens)).first(limit)

    def accept(self, tokens: Sequence[int]) -> None:
        self._at += len(tokens)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("length", [1, 31, 32, 33, 100])
def test_a_blocks_logits_are_those_of_numpy(pair: Pair, networks: tuple[Network, Network], length: int) -> None:
    pair.prefill(prompt(1, length))
    assert_near(pair.block(77), block_logits(*networks, features(networks[1], prompt(1, length)), 77))


@pytest.mark.usefixtures("exact")
def test_other_layers_give_other_logits(pair: Pair, networks: tuple[Network, Network]) -> None:
    """The comparison with NumPy would notice: two layers exchanged are far more than the tolerance."""
    pair.prefill(prompt(1))
    exchanged = np.roll(features(networks[1], prompt(1)), 32, axis=1)
    assert np.abs(pair.block(77) - block_logits(*networks, exchanged, 77)).max() > 1


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_read_follows_the_targets_memory(pair: Pair, networks: tuple[Network, Network], seed: int) -> None:
    """Accepted branches, refused ones, another prompt with the same start: the draft knows what the target holds."""
    plain = pair.answer(NoDraft(), prompt(seed)).tokens
    answer = pair.answer(Oracle(plain, seed), prompt(seed))
    assert 0 < answer.accepted < answer.drafted
    held = np.array([*prompt(seed), *plain[:-1]], np.int32)
    assert_near(pair.block(plain[-1]), block_logits(*networks, features(networks[1], held), plain[-1]))
    other = np.concatenate([held[:70], prompt(seed + 9, 20)])
    pair.prefill(other)
    assert_near(pair.block(7), block_logits(*networks, features(networks[1], other), 7))


@pytest.mark.usefixtures("exact")
def test_a_memory_that_was_not_watched_from_the_start_is_read_from_there(
    pair: Pair, networks: tuple[Network, Network]
) -> None:
    context = pair.cache.context
    watcher, context._watcher = context._watcher, None
    pair.prefill(prompt(3, 64))
    context._watcher = watcher
    pair.prefill(prompt(3, 80))
    read = features(networks[1], prompt(3, 80))[64:]
    assert_near(pair.block(5), block_logits(*networks, read, 5, first=64))


@pytest.mark.usefixtures("exact")
def test_a_draft_that_was_stopped_goes_on_with_what_comes_next(pair: Pair, networks: tuple[Network, Network]) -> None:
    class Inside(AbortFlag):
        def is_set(self) -> bool:
            return False

    stopped = Inside()
    stopped.set()
    pair.prefill(prompt(4, 40))
    pair.draft.begin(prompt(4, 40), stopped)
    assert pair.draft.propose(8) == NOTHING
    pair.prefill(prompt(4, 60))
    read = features(networks[1], prompt(4, 60))[40:]
    assert_near(pair.block(5), block_logits(*networks, read, 5, first=40))


@pytest.mark.usefixtures("exact")
def test_answers_differ_nowhere_on_exact_weights(pair: Pair) -> None:
    accepted = 0
    for seed in range(PROMPTS):
        plain, answer = pair.answer(NoDraft(), prompt(seed), 40), pair.answer(pair.draft, prompt(seed), 40)
        assert answer.tokens == plain.tokens
        assert answer.drafted > 10 * answer.rounds
        accepted += answer.accepted
    assert accepted >= PROMPTS / 2  # by chance: weights without meaning


def test_answers_differ_at_near_ties_alone_with_float16_keys(pair: Pair) -> None:
    for seed in range(PROMPTS):
        plain, answer = (
            pair.answer(NoDraft(), prompt(seed), 40).tokens,
            pair.answer(pair.draft, prompt(seed), 40).tokens,
        )
        if answer != plain:
            same = common_prefix(np.array(answer), np.array(plain))
            pair.cache.rewind(0)
            pair.prefill(np.array([*prompt(seed), *plain[:same]], np.int32))
            second, first = np.sort(pair.cache.context.logits())[-2:]
            assert first - second < 1e-2


def test_a_tree_holds_the_best_products_of_the_places_distributions(pair: Pair) -> None:
    pair.prefill(prompt(1))
    pair.draft.begin(prompt(1), AbortFlag())
    pair.draft.accept([77])
    tree = pair.draft.propose(12)
    logits = pair.block(77)[1:]
    chances = np.exp(logits - logits.max(axis=-1, keepdims=True))
    chances /= chances.sum(axis=-1, keepdims=True)
    assert tree.tokens[0] == logits[0].argmax()
    for node, (parent, depth) in enumerate(zip(tree.parents, tree.depths(), strict=True)):
        above = 1.0 if parent == ROOT else tree.worth[parent]
        assert tree.worth[node] == pytest.approx(above * chances[depth - 1, tree.tokens[node]], rel=1e-4)
    assert list(tree.worth) == sorted(tree.worth, reverse=True)
    assert max(tree.depths()) <= BLOCK - 1


def test_nothing_is_proposed_without_room_or_once_aborted(pair: Pair) -> None:
    pair.prefill(prompt(1))
    assert pair.draft.propose(0) == NOTHING
    flag = AbortFlag()
    flag.set()
    pair.draft.begin(prompt(1), flag)
    assert pair.draft.propose(8) == NOTHING


@pytest.mark.usefixtures("exact")
def test_a_target_opens_one_by_its_architecture(tiny_qwen3: Path, make_dflash: MakeDFlash) -> None:
    """Two questions and a follow-up that needs a larger context, as a session asks them."""
    path = make_dflash()
    asked = [prompt(1), prompt(2), np.concatenate([prompt(2), np.tile(prompt(3, 200), 20)])[:3900]]
    said = {}
    for draft in ("off", path):
        with closing(LlamaTarget.open(tiny_qwen3, TargetOptions(n_threads=1, draft=draft))) as target:
            said[draft] = [
                target.generate(text, Sampling(max_tokens=30), Cancellation(), lambda _: None) for text in asked
            ]
    assert [answer.text for answer in said[path]] == [answer.text for answer in said["off"]]
    assert {answer.draft for answer in said[path]} == {"tiny-dflash.gguf"}
    assert sum(answer.drafted_tokens for answer in said[path]) > 0


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        ({"read": (1, 4)}, r"it reads the layers \[1, 4\], and the target has the layers 0 to 3"),
        ({"block": 1}, "not blocks of 1, the mask 256 and 258 tokens"),
        ({"mask": None}, "not blocks of 6, the mask None and 258 tokens"),
        ({"more": {f"markov_w{i}.weight": (258, 4) for i in (1, 2)}}, "is a DSpark model: only plain DFlash"),
    ],
)
def test_a_draft_that_does_not_fit_is_refused_with_the_reason(
    tiny_qwen3: Path, make_dflash: MakeDFlash, draft: dict[str, Any], reason: str
) -> None:
    path = make_dflash(**draft)
    with pytest.raises(DraftError, match=f"tiny-dflash.gguf .*{reason}"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(draft=path))


def test_an_eagle3_draft_is_refused(tiny_qwen3: Path, make_dflash: MakeDFlash, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Model, "architecture", "eagle3")
    with pytest.raises(DraftError, match=r"tiny-dflash.gguf is an EAGLE-3 model"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(draft=make_dflash()))


def test_a_target_of_another_width_is_refused(
    tiny_qwen3: Path, make_dflash: MakeDFlash, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Model, "width", property(lambda model: 32 if model.architecture == "dflash" else 64))
    with pytest.raises(DraftError, match="reads hidden states of 32 elements, the target's have 64"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(draft=make_dflash()))


def test_a_target_whose_layers_cannot_be_read_is_refused(
    tiny_qwen3: Path, make_dflash: MakeDFlash, tiny_qwen2: Path
) -> None:
    with pytest.raises(DraftError, match=r"llama.cpp does not tell what the layers of a 'qwen2' model read, only of"):
        LlamaTarget.open(tiny_qwen2, TargetOptions(draft=make_dflash()))


def test_a_llama_cpp_without_the_functions_is_named(
    tiny_qwen3: Path, make_dflash: MakeDFlash, monkeypatch: pytest.MonkeyPatch
) -> None:
    features_module._function.cache_clear()
    monkeypatch.setitem(features_module._SIGNATURES, "read", ("_Z4gonev", None, []))
    with pytest.raises(DraftError, match=r"this build of llama.cpp does not tell .* lacks _Z4gonev"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(draft=make_dflash()))
    features_module._function.cache_clear()
