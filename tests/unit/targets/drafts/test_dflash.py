"""DFlash drafts on a tiny pair: the same numbers as in NumPy, and answers that are the target's own."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.errors import DraftError
from winnow_engine.llama import layer_inputs
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import ROOT
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets.drafts.base import NoDraft
from winnow_engine.targets.drafts.dflash import DFlashDraft, open_dflash
from winnow_engine.targets.local.target import LlamaTarget

from ..loaded import PROMPTS, Oracle
from .numpy_drafts import BLOCK, HEAD, Array, Network, block_logits, features
from .pair import ANSWER, Pair, accepted_of_many, assert_near, prompt

MakeDFlash = Callable[..., Path]
DFlashPair = Pair[DFlashDraft]
Networks = tuple[Network, Network]


def block(pair: DFlashPair, token: int) -> Array:
    """The logits of a block behind all tokens that the target holds."""
    assert pair.draft._memory is not None
    logits = pair.draft._memory.evaluate(token, AbortFlag())
    assert logits is not None
    return logits.copy()


@pytest.fixture
def pair(tiny_qwen3: Path, make_dflash: MakeDFlash) -> Iterator[DFlashPair]:
    with closing(Pair(tiny_qwen3, make_dflash(), open_dflash)) as pair:
        yield pair


@pytest.fixture
def networks(tiny_qwen3: Path, make_dflash: MakeDFlash) -> Networks:
    return Network(make_dflash()), Network(tiny_qwen3)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("length", [1, 31, 32, 33, 100])
def test_a_blocks_logits_are_those_of_numpy(pair: DFlashPair, networks: Networks, length: int) -> None:
    pair.prefill(prompt(1, length))
    assert_near(block(pair, 77), block_logits(*networks, features(networks[1], prompt(1, length)), 77))


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(
    "kind",
    [{"own_tokens": True}, {"causal": True}, {"sections": (HEAD // 2, 0, 0, 0)}],
    ids=lambda kind: next(iter(kind)),
)
def test_drafts_of_other_kinds(tiny_qwen3: Path, make_dflash: MakeDFlash, kind: dict[str, Any]) -> None:
    """With its own embeddings, with a causal block, or for a target with M-RoPE."""
    path, target = make_dflash(**kind), Network(tiny_qwen3)
    with closing(Pair(tiny_qwen3, path, open_dflash)) as pair:
        pair.prefill(prompt(1))
        read = features(target, prompt(1))
        reference = block_logits(Network(path), target, read, 77, causal="causal" in kind)
        assert_near(block(pair, 77), reference)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_read_follows_the_targets_memory(pair: DFlashPair, networks: Networks, seed: int) -> None:
    """After accepted branches, refused ones and a prompt with the same start it knows what the target holds."""
    plain = pair.answer(NoDraft(), ANSWER, prompt(seed)).tokens
    answer = pair.answer(Oracle(plain, seed), ANSWER, prompt(seed))
    assert 0 < answer.accepted < answer.drafted
    held = np.array([*prompt(seed), *plain[:-1]], np.int32)
    assert_near(block(pair, plain[-1]), block_logits(*networks, features(networks[1], held), plain[-1]))
    other = np.concatenate([held[:70], prompt(seed + 9, 20)])
    pair.prefill(other)
    assert_near(block(pair, 7), block_logits(*networks, features(networks[1], other), 7))


@pytest.mark.usefixtures("exact")
def test_answers_differ_nowhere_on_exact_weights(pair: DFlashPair) -> None:
    assert accepted_of_many(pair, 40, 10) >= PROMPTS / 2  # by chance: weights without meaning


def test_a_tree_holds_the_best_products_of_the_places_distributions(pair: DFlashPair) -> None:
    pair.prefill(prompt(1))
    pair.draft.begin(prompt(1), AbortFlag())
    pair.draft.accept([77])
    tree = pair.draft.propose(12)
    logits = block(pair, 77)[1:]
    chances = np.exp(logits - logits.max(axis=-1, keepdims=True))
    chances /= chances.sum(axis=-1, keepdims=True)
    assert tree.tokens[0] == logits[0].argmax()
    for node, (parent, depth) in enumerate(zip(tree.parents, tree.depths(), strict=True)):
        above = 1.0 if parent == ROOT else tree.worth[parent]
        assert tree.worth[node] == pytest.approx(above * chances[depth - 1, tree.tokens[node]], rel=1e-4)
    assert list(tree.worth) == sorted(tree.worth, reverse=True)
    assert max(tree.depths()) <= BLOCK - 1


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        ({"read": (1, 4)}, r"it reads the layers \[1, 4\], .* of this target's layers 0 to 3"),
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
        LlamaTarget.open(tiny_qwen3, TargetOptions(speculate=path))


def test_a_target_of_another_width_is_refused(
    tiny_qwen3: Path, make_dflash: MakeDFlash, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LlamaModel, "width", property(lambda model: 32 if model.architecture == "dflash" else 64))
    with pytest.raises(DraftError, match="reads hidden states of 32 elements, the target's have 64"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(speculate=make_dflash()))


def test_a_target_whose_layers_llama_does_not_keep_is_refused(
    tiny_qwen3: Path, make_dflash: MakeDFlash, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow_engine.llama.layer_inputs.given_by", frozenset)  # other builds, other architectures
    with pytest.raises(DraftError, match="does not give the inputs of layers of the architecture 'qwen3'"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(speculate=make_dflash()))


def test_a_llama_cpp_without_the_functions_is_named(
    tiny_qwen3: Path, make_dflash: MakeDFlash, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer_inputs._function.cache_clear()
    monkeypatch.setitem(layer_inputs._SIGNATURES, "read", ("_Z4gonev", None, []))
    with pytest.raises(DraftError, match=r"this build of llama.cpp does not give .* lacks _Z4gonev"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(speculate=make_dflash()))
    layer_inputs._function.cache_clear()
