"""Training of a draft on a small target with random weights: it learns, repeats itself, and the engine agrees."""

import copy
import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from gguf import GGMLQuantizationType
from gguf.quants import dequantize

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.targets.base import Request
from winnow_engine.targets.drafts.base import NoDraft
from winnow_engine.targets.drafts.block_file import BlockShape
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.cli.train import train as command
from winnow_research.training.dataset import rows
from winnow_research.training.dequantise import dequantised
from winnow_research.training.draft.export import export
from winnow_research.training.draft.prompts import PromptData
from winnow_research.training.draft.run import answered
from winnow_research.training.draft.trainer import DraftRecipe, DraftText, DraftTrainer, Ids, frequent
from winnow_research.training.qwen2 import Qwen2
from winnow_research.training.writing import continued

from ..unit.targets.conftest import exact as exact
from ..unit.targets.drafts.pair import Pair

CPU = torch.device("cpu")
ENDS = (257,)
SHAPE = BlockShape((1,), 64, 4, 2, 16, 128, vocabulary=100, block=4, rank=4, rope_base=1e4)


def recipe(steps: int, seed: int = 0) -> DraftRecipe:
    return DraftRecipe(
        answers=8, judged=4, steps=steps, answer_tokens=16, batch_rows=300, anchors=6, seed=seed, other_lr=1e-2
    )


@pytest.fixture(scope="module")
def target(drafter: Path) -> Qwen2:
    return Qwen2(drafter, CPU)


@pytest.fixture(scope="module")
def prompts() -> list[Ids]:
    random = np.random.default_rng(5)
    return [random.integers(32, 127, 12 + 3 * number).astype(np.int32) for number in range(8)]


@pytest.fixture(scope="module")
def texts(target: Qwen2, prompts: list[Ids]) -> list[DraftText]:
    return answered(target, rows(prompts, np.int32), ENDS, recipe(1), len(prompts), lambda _: None)


def trained(target: Qwen2, texts: list[DraftText], steps: int, seed: int = 0) -> tuple[DraftTrainer, Ids, list[float]]:
    torch.manual_seed(seed)
    tokens = frequent(texts, SHAPE.vocabulary, ENDS, len(target.head))
    trainer = DraftTrainer(target, SHAPE, tokens, recipe(steps, seed))
    trainer.train(texts, texts, lambda _: None)
    return trainer, tokens, trainer.losses


@pytest.mark.parametrize(("kind", "size", "scales"), [("Q4_K", 144, slice(0, 4)), ("Q6_K", 210, slice(208, 210))])
def test_weights_are_dequantised_as_gguf_does_it(kind: str, size: int, scales: slice) -> None:
    raw = np.random.default_rng(1).integers(0, 256, (7, size)).astype(np.uint8)
    raw[:, scales] = np.resize(np.float16([0.02]).view(np.uint8), raw[:, scales].shape)
    found = dequantised(torch.from_numpy(raw.ravel()), GGMLQuantizationType[kind], torch.float32)
    np.testing.assert_allclose(found, dequantize(raw, GGMLQuantizationType[kind]).ravel(), rtol=1e-6, atol=1e-6)


def _until(tokens: list[int], end: int) -> list[int]:
    return tokens[: tokens.index(end) + 1] if end in tokens else tokens


def test_the_target_reads_and_chooses_as_llama_does(
    target: Qwen2,
    drafter: Path,
    texts: list[DraftText],
    tmp_path: Path,
    prompts: list[Ids],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a layer reads, and the likeliest tokens behind each of a text; so greedy answers are the same."""
    trainer, tokens, _ = trained(target, texts, 1)
    path = tmp_path / "draft.gguf"
    export(trainer.network, tokens, drafter, path)
    with closing(Pair(drafter, path)) as pair:
        ids = texts[3].ids
        pair.prefill(ids)
        assert pair.draft._memory is not None
        states, _ = pair.draft._memory._joined()
        read = target.read(torch.from_numpy(ids.astype(np.int64))[None], (1,), torch.arange(len(ids))[None])
        ours = read.features[0, -len(states) :, 0].numpy()
        np.testing.assert_allclose(ours, states, atol=0.05)
        assert np.abs(ours).max() > 1
        plain = [pair.answer(NoDraft(), Sampling(max_tokens=10), prompt).tokens for prompt in prompts[:3]]
    written = continued(target, prompts[:3], 10, [0.0] * 3, ())
    assert [answer.tolist() for answer in written] == plain
    monkeypatch.setattr("winnow_research.training.writing._TOGETHER", 2)
    monkeypatch.setattr("winnow_research.training.writing._STEPS", 4)
    one_by_one = continued(target, prompts[:3], 10, [0.0] * 3, (plain[0][5],))
    assert [answer.tolist() for answer in one_by_one] == [_until(answer, plain[0][5]) for answer in plain]
    whole = np.array([*prompts[0], *plain[0]])
    choices = target.read(torch.from_numpy(whole)[None], (1,), torch.arange(len(whole))[None]).choices[0]
    assert choices[len(prompts[0]) - 1 : -1].tolist() == plain[0]


def test_training_lowers_the_loss_and_guesses_more(target: Qwen2, texts: list[DraftText]) -> None:
    trainer, _, losses = trained(target, texts, 40)
    assert np.mean(losses[-5:]) < 0.7 * np.mean(losses[:5])
    before = trained(target, texts, 1)[0].judge(texts)["tokens a pass"]
    assert trainer.judge(texts)["tokens a pass"]["block 3"] > before["block 3"]  # type: ignore[index]


def test_a_text_has_rows_where_the_product_reads_it(target: Qwen2, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow_research.training.draft.trainer.FIRST", 3)
    monkeypatch.setattr("winnow_research.training.draft.trainer.WINDOW", 5)
    ids = np.random.default_rng(3).integers(32, 127, 30).astype(np.int32)
    whole, cut = DraftText(ids, 7), DraftText(ids, 20)
    assert whole.places.tolist() == list(range(29))
    assert cut.places.tolist() == [0, 1, 2, *range(15, 29)]
    trainer = DraftTrainer(target, SHAPE, np.arange(SHAPE.vocabulary, dtype=np.int32), recipe(1))
    with torch.no_grad():
        known = trainer._known([cut, whole], None)
        everything = trainer._known([whole], None)
    at = cut.places
    assert known.lengths.tolist() == [17, 29]
    assert known.following[0, :17].tolist() == ids[at + 1].tolist()
    assert known.choices[0, :17].tolist() == everything.choices[0, at].tolist()
    torch.testing.assert_close(known.rows[0, :17], everything.rows[0, at], atol=1e-4, rtol=1e-4)
    anchors = trainer._anchors([cut] * 50, np.random.default_rng(0), 0.5)
    assert anchors.min() == 3  # a block behind an earlier row would go on where the text does not
    in_answer = trainer._anchors([cut] * 50, np.random.default_rng(0), 0.0)
    assert (in_answer.min(), in_answer.max()) == (6, 15)
    wanted, before = trainer._wanted(known, torch.tensor([[6], [6]]))
    assert before[0, 0, 0] == ids[19]
    assert wanted[0, 0, 0] == known.choices[0, 6]


def test_a_second_sitting_goes_on_where_the_first_one_stopped(target: Qwen2, texts: list[DraftText]) -> None:
    first, tokens, _ = trained(target, texts, 10)
    state = copy.deepcopy(first.state())
    second = DraftTrainer(target, SHAPE, tokens, recipe(14))
    second.resume(state)
    assert second.judge(texts) == first.judge(texts)
    second.train(texts, texts, lambda _: None)
    assert second.losses[:10] == first.losses
    assert len(second.losses) == 14
    assert max(second.losses[10:]) < second.losses[0]
    assert second.seconds > first.seconds


@pytest.mark.usefixtures("exact")
def test_the_engine_guesses_what_was_trained(
    target: Qwen2, drafter: Path, texts: list[DraftText], tmp_path: Path
) -> None:
    """The logits of a block in llama.cpp and in PyTorch; and answers that are the target's own."""
    trainer, tokens, _ = trained(target, texts, 8)
    path = tmp_path / "draft.gguf"
    export(trainer.network, tokens, drafter, path, GGMLQuantizationType.F32)
    ids, end = texts[5].ids, len(texts[5].ids) - 1
    with torch.no_grad():
        whole = torch.from_numpy(ids.astype(np.int64))[None]
        read = target.read(whole, SHAPE.layers_read, torch.arange(end)[None])
        taken = trainer.network.rows(read.features.clone(), target.embedding[whole[:, 1:]])
        text, blocks = trainer.network(taken, torch.tensor([[end - 1]]))
        hidden = torch.cat([text[0, -1:], blocks[0, 0]])
        wanted = (hidden @ trainer.network.head.T).numpy()
    with closing(Pair(drafter, path)) as pair:
        pair.prefill(ids[:-1])
        assert pair.draft._memory is not None
        found = pair.draft._memory.evaluate(int(ids[-1]), SHAPE.block, AbortFlag())
        np.testing.assert_allclose(found, wanted, atol=0.02)
        assert wanted.std() > 0.5
        for text_ in texts[:4]:
            prompt = text_.ids[: text_.answer]
            plain = pair.answer(NoDraft(), Sampling(max_tokens=20), prompt).tokens
            drafted = pair.answer(pair.draft, Sampling(max_tokens=20), prompt)
            assert drafted.tokens == plain
            assert drafted.drafted > 0


def test_the_command_goes_from_prompts_to_a_draft(
    drafter: Path, prompts: list[Ids], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BlockShape, "of", lambda *_: SHAPE)
    some = rows(prompts, np.int32)
    PromptData(some, some, some, ENDS).save(tmp_path / "prompts.npz")
    out = tmp_path / "draft.gguf"
    arguments = ["draft", str(tmp_path / "prompts.npz"), str(out), "--target", str(drafter)]
    result = CliRunner().invoke(command, [*arguments, "--steps", "2", "--answers", "6"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    record = json.loads(out.with_suffix(".json").read_text())
    assert len(record["losses"]) == 2
    assert record["texts"] == 6
    assert record["recipe"]["steps"] == 2
    again = CliRunner().invoke(command, [*arguments, "--steps", "5", "--answers", "6"], catch_exceptions=False)
    assert "goes on after 2 steps" in again.output
    assert len(json.loads(out.with_suffix(".json").read_text())["losses"]) == 5
    assert record["development"]["right by place"]
    with closing(LlamaTarget.open(drafter, TargetOptions(n_threads=1, speculate=out))) as opened:
        assert opened.generate(Request(LocalPrompt(prompts[0]), Sampling(max_tokens=8))).draft == "draft.gguf"
