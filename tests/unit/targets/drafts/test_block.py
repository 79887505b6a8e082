"""Block drafts on a tiny pair: the same numbers as in NumPy, and answers that are the target's own."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.errors import DraftError, UnsupportedModelError
from winnow_engine.llama import layer_inputs
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import ROOT
from winnow_engine.targets import drafts
from winnow_engine.targets.base import Request
from winnow_engine.targets.drafts.base import NoDraft
from winnow_engine.targets.drafts.block import BlockDraft
from winnow_engine.targets.drafts.shipped import draft_of
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget

from ..loaded import FlagInside, Oracle
from .block_files import BLOCK, block_logits, write_block
from .numpy_drafts import Array, Network, features
from .pair import ANSWER, Pair, accepted_of_many, assert_near, assert_same_answers, prompt, stopped_inside

Reference = Callable[..., Array]


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    return write_block(tmp_path / "tiny-block.gguf")


@pytest.fixture
def target(tiny_qwen3: Path) -> Path:
    return tiny_qwen3


@pytest.fixture
def pair(target: Path, draft: Path) -> Iterator[Pair]:
    with closing(Pair(target, draft)) as pair:
        yield pair


@pytest.fixture
def reference(target: Path, draft: Path) -> Reference:
    """The logits of a block behind a text and a token, in NumPy. The draft knows the text from `first` on."""

    def logits(text: Array, token: int, places: int = BLOCK, first: int = 0) -> Array:
        read = features(Network(target), text)[first:]
        return block_logits(draft, target, read, np.array([*text[first + 1 :], token]), places, first)

    return logits


@pytest.fixture(autouse=True)
def float_fuse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a test is exact, the product that makes rows is, too."""
    if "exact" in request.fixturenames:
        monkeypatch.setattr("winnow_engine.targets.drafts.block_tables.runs_here", lambda: False)


def block(pair: Pair, token: int, places: int = BLOCK) -> Array:
    """The logits of a block behind all that the target holds, and `token`."""
    assert pair.draft._memory is not None
    logits = pair.draft._memory.evaluate(token, places, AbortFlag())
    assert logits is not None
    return logits.copy()


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("length", [1, 26, 27, 28, 32, 33, 100])
def test_a_blocks_logits_are_those_of_numpy(pair: Pair, reference: Reference, length: int) -> None:
    pair.prefill(prompt(1, length))
    assert_near(block(pair, 77), reference(prompt(1, length), 77))


@pytest.fixture
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 tokens, behind the first 4."""
    monkeypatch.setattr("winnow_engine.targets.drafts.block_memory.WINDOW", 20)
    monkeypatch.setattr("winnow_engine.targets.drafts.block_memory.FIRST", 4)


@pytest.fixture
def of_window(target: Path, draft: Path) -> Reference:
    """As `reference`, where the draft knows the text's first tokens, `start` of them, and those from `first` on."""

    def logits(text: Array, token: int, first: int, start: int = 4) -> Array:
        read, behind = features(Network(target), text), np.array([*text[1:], token])
        kept = [*range(start), *range(first, len(text))]
        return block_logits(draft, target, read[kept], behind[kept], BLOCK)

    return logits


@pytest.mark.usefixtures("exact", "small_window")
@pytest.mark.parametrize("length", [25, 40, 41, 100])
@pytest.mark.parametrize("begun", [False, True])
def test_start_and_end_of_a_long_prompt_are_read(pair: Pair, of_window: Reference, length: int, begun: bool) -> None:
    text = prompt(1, length + 3)
    pair.prefill(text[:length])
    if begun:
        pair.draft.begin(text[:length], AbortFlag())
    first = length - 20
    assert_near(block(pair, int(text[length])), of_window(text[:length], int(text[length]), first=first))
    pair.cache.extend(text[length : length + 2], want_logits=False)
    assert_near(block(pair, 77), of_window(text[: length + 2], 77, first=first))
    pair.cache.rewind(length + 1)
    pair.cache.extend(text[length + 1 :], want_logits=False)
    assert_near(block(pair, 77), of_window(text, 77, first=first))


@pytest.mark.usefixtures("exact", "small_window")
@pytest.mark.parametrize("shared", [2, 10, 79])
def test_another_prompt_with_the_same_start_is_read_anew(
    pair: Pair, of_window: Reference, reference: Reference, shared: int
) -> None:
    """What the draft knows of it begins where it differs, behind its first tokens if those are the same."""
    text = np.concatenate([prompt(1, 100)[:shared], prompt(2, 105)[shared:]])
    pair.prefill(prompt(1, 100))
    block(pair, 76)
    pair.prefill(text)
    wanted = of_window(text, 77, first=85) if shared > 4 else reference(text, 77, first=85)
    assert_near(block(pair, 77), wanted)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_read_follows_the_targets_memory(pair: Pair, reference: Reference, seed: int) -> None:
    """After accepted branches, refused ones and a prompt with the same start it knows what the target holds."""
    plain = pair.answer(NoDraft(), ANSWER, prompt(seed)).tokens
    answer = pair.answer(Oracle(plain, seed), ANSWER, prompt(seed))
    assert 0 < answer.accepted < answer.drafted
    held = np.array([*prompt(seed), *plain[:-1]], np.int32)
    assert_near(block(pair, plain[-1]), reference(held, plain[-1]))


@pytest.mark.usefixtures("exact")
def test_a_draft_that_was_stopped_goes_on_with_what_comes_next(pair: Pair, of_window: Reference) -> None:
    stopped_inside(pair, prompt(4, 40))
    pair.prefill(prompt(4, 60))
    assert_near(block(pair, 5), of_window(prompt(4, 60), 5, first=40, start=16))


@pytest.mark.usefixtures("exact")
def test_an_answer_can_be_cancelled_while_it_is_drafted(pair: Pair) -> None:
    plain = pair.answer(NoDraft(), ANSWER, prompt(5)).tokens
    stopped = FlagInside()
    cut = pair.answer(pair.draft, ANSWER, prompt(5), stopped, lambda _: stopped.set())
    assert 1 <= len(cut.tokens) < len(plain)
    assert cut.tokens == plain[: len(cut.tokens)]
    assert pair.answer(pair.draft, ANSWER, prompt(5)).tokens == plain


@pytest.mark.usefixtures("exact")
def test_answers_differ_nowhere_on_exact_weights(pair: Pair) -> None:
    assert accepted_of_many(pair, 30, 4) > 0  # by chance: weights without meaning


@pytest.mark.usefixtures("exact")
def test_a_tree_holds_the_targets_tokens_behind_one_another(pair: Pair, draft: Path, reference: Reference) -> None:
    """Its chances are the softmax of logits and table, up to what the table does to tokens that are not looked at."""
    pair.prefill(prompt(1))
    pair.draft.begin(prompt(1), AbortFlag())
    pair.draft.accept([76])
    tree = pair.draft.propose(12)
    logits, tables = reference(prompt(1), 76), load_file(draft.with_suffix(".safetensors"))
    assert list(tree.worth) == sorted(tree.worth, reverse=True)
    assert max(tree.depths()) <= BLOCK
    for node, (parent, depth) in enumerate(zip(tree.parents, tree.depths(), strict=True)):
        previous = 76 if parent == ROOT else tree.tokens[parent]
        looked = np.argsort(-logits[depth - 1])[:6]
        added = np.zeros(len(logits[0]))
        added[looked] = tables["after"][looked] @ tables["before"][previous // 2]
        chances = np.exp(logits[depth - 1] - logits[depth - 1].max() + added)
        above = 1.0 if parent == ROOT else tree.worth[parent]
        own = tree.tokens[node] // 2
        assert tree.tokens[node] == tables["tokens"][own]
        assert tree.worth[node] == pytest.approx(above * chances[own] / chances.sum(), rel=1e-3)


def test_a_token_that_the_draft_lacks_has_a_row_of_its_own(pair: Pair, draft: Path) -> None:
    before = load_file(draft.with_suffix(".safetensors"))["before"]
    assert pair.draft._own.get(77, len(pair.draft._own)) == len(before) - 1


@pytest.mark.usefixtures("exact", "all_drafts_pay")
@pytest.mark.parametrize("n_ubatch", [2, 8, 512])
def test_a_target_opens_one_by_its_file(target: Path, draft: Path, n_ubatch: int) -> None:
    assert_same_answers(target, draft, n_ubatch=n_ubatch)


def test_a_draft_is_no_target(draft: Path) -> None:
    with pytest.raises(UnsupportedModelError, match="a draft answers nothing by itself: name it as the setting"):
        LlamaTarget.open(draft)


@pytest.mark.parametrize("read", [(1, 4), ()])
def test_layers_that_the_target_lacks_are_named(tiny_qwen3: Path, tmp_path: Path, read: tuple[int, ...]) -> None:
    draft = write_block(tmp_path / "tiny-block.gguf", read)
    with pytest.raises(DraftError, match=r"tiny-block.gguf cannot draft .*this target's layers 0 to 3"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(speculate=draft))


def test_a_target_whose_layers_llama_does_not_keep_is_refused(
    tiny_qwen3: Path, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow_engine.llama.layer_inputs.given_by", frozenset)  # other builds, other architectures
    with pytest.raises(DraftError, match="does not give the inputs of layers of the architecture 'qwen3'"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(speculate=draft))


def test_a_llama_cpp_without_the_functions_is_named(
    tiny_qwen3: Path, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer_inputs._function.cache_clear()
    monkeypatch.setitem(layer_inputs._SIGNATURES, "read", ("_Z4gonev", None, []))
    with pytest.raises(DraftError, match=r"this build of llama.cpp does not give .* lacks _Z4gonev"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(speculate=draft))
    layer_inputs._function.cache_clear()


@pytest.mark.parametrize(("width", "own"), [(64, 128), (32, 200)], ids=["width", "tokens"])
def test_a_draft_for_targets_of_another_size_is_refused(tiny_qwen3: Path, tmp_path: Path, width: int, own: int) -> None:
    draft = write_block(tmp_path / "tiny-block.gguf", width=width, own=own)
    with pytest.raises(DraftError, match=r"tiny-block.gguf cannot draft for this target: it was trained for one of"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(speculate=draft))


def damage(path: Path, how: str) -> None:
    if how == "missing":
        path.unlink()
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    elif how == "no tensors":
        path.write_bytes(b"")
    else:
        save_file({name: value for name, value in load_file(path).items() if name != how}, path)


@pytest.mark.parametrize("how", ["missing", "cut", "no tensors", "tokens", "fuse"])
def test_a_damaged_file_beside_it_is_named(tiny_qwen3: Path, draft: Path, how: str) -> None:
    damage(draft.with_suffix(".safetensors"), how)
    with pytest.raises(DraftError, match=r"tiny-block.safetensors is missing or damaged .* beside its draft's GGUF"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(speculate=draft))


@pytest.mark.parametrize("name", ["fuse", "masks", "after", "embedding"])
def test_tables_of_other_shapes_are_refused(tiny_qwen3: Path, draft: Path, name: str) -> None:
    path = draft.with_suffix(".safetensors")
    save_file({**load_file(path), name: np.ones((3, 5), np.float32)}, path)
    with pytest.raises(DraftError, match="beside it is another draft's"):
        LlamaTarget.open(tiny_qwen3, TargetOptions(speculate=draft))


@pytest.fixture
def with_draft(tiny_qwen3: Path, tmp_path: Path) -> Path:
    """A target with a draft beside it."""
    write_block(tmp_path / "small.draft.gguf")
    return Path(shutil.copy(tiny_qwen3, tmp_path / "small.gguf"))


def asked_in(target: Path, speculate: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], int]:
    """Two answers, and how often a block was guessed for them."""
    guessed: list[int] = []
    guess = BlockDraft._tree
    monkeypatch.setattr(BlockDraft, "_tree", lambda self, *how: guessed.append(1) or guess(self, *how))
    with closing(LlamaTarget.open(target, TargetOptions(n_threads=1, speculate=speculate))) as opened:
        texts = [opened.generate(Request(LocalPrompt(prompt(seed)), Sampling(max_tokens=40))).text for seed in (1, 2)]
    return texts, len(guessed)


@pytest.mark.usefixtures("exact")
def test_auto_asks_the_draft_beside_the_target(with_draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert draft_of(with_draft) == with_draft.with_name("small.draft.gguf")
    plain, never = asked_in(with_draft, "off", monkeypatch)
    texts, times = asked_in(with_draft, "auto", monkeypatch)
    assert texts == plain
    assert never == 0 < times


def test_auto_does_without_a_draft_that_is_damaged(
    with_draft: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with_draft.with_name("small.draft.safetensors").write_bytes(b"")
    texts, times = asked_in(with_draft, "auto", monkeypatch)
    assert (len(texts), times) == (2, 0)
    assert "the target's draft is not used" in caplog.text
    assert with_draft.with_name("small.draft.gguf").is_file()


def test_auto_opens_no_draft_that_another_llama_cpp_would_verify_too_slowly(
    with_draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "has_patches", lambda: False)
    opened: list[Path] = []
    monkeypatch.setattr(drafts, "open_block", lambda path, *_: opened.append(path))
    LlamaTarget.open(with_draft, TargetOptions(n_threads=1, n_gpu_layers=0)).close()
    assert not opened


def test_a_target_has_no_draft_unless_one_lies_beside_it(tiny_qwen3: Path) -> None:
    assert draft_of(tiny_qwen3) is None


@pytest.mark.parametrize("places", [1, 3, BLOCK])
def test_rows_that_fill_up_a_graph_change_no_logits(pair: Pair, places: int) -> None:
    found = []
    for sizes in ((), (4, BLOCK)):
        pair.cache.rewind(0)
        pair.prefill(prompt(1))
        memory = pair.draft._memory
        assert memory is not None
        memory._sizes = sizes
        logits = memory.evaluate(77, places, AbortFlag())
        assert logits is not None
        found.append(logits.copy())
    assert len(found[1]) == places
    np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-3)  # batches round differently
