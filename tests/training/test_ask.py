"""Questions that a language model writes: what about, that it writes what llama.cpp would, and what is refused."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import llama_cpp
import numpy as np
import pytest
import torch

from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.training import ask as asking
from winnow_research.training.ask import CHAINED, QuestionRecipe, ask
from winnow_research.training.dataset import Dataset, rows
from winnow_research.training.qwen2 import Qwen2
from winnow_research.training.writing import continued

CPU = torch.device("cpu")
TOKENS = 12


@pytest.fixture(scope="module")
def model(drafter: Path) -> Qwen2:
    return Qwen2(drafter, CPU)


def _continued(
    model: Qwen2, opening: np.ndarray, prompts: list[np.ndarray], heat: float = 0, ends: Sequence[int] = ()
) -> list[list[int]]:
    found = continued(model, prompts, TOKENS, [heat] * len(prompts), ends, model.opening(opening))
    return [ids.tolist() for ids in found]


@pytest.fixture(scope="module")
def vocabulary(drafter: Path) -> Vocabulary:
    return Vocabulary(LlamaModel(drafter, vocabulary_only=True))


@pytest.fixture(scope="module")
def texts() -> list[np.ndarray]:
    random = np.random.default_rng(3)
    return [random.integers(32, 127, size).astype(np.int32) for size in (9, 4, 11, 7)]


def test_each_prompt_is_continued_as_llama_continues_it(
    drafter: Path, model: Qwen2, texts: list[np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind an opening that all share, also where a prompt takes the row of another, and with none."""
    opening, *prompts = texts
    llama = llama_cpp.Llama(str(drafter), n_ctx=256, logits_all=True, verbose=False)
    wanted = []
    for prompt in prompts:
        ids = [*opening.tolist(), *prompt.tolist()]
        for _ in range(TOKENS):
            llama.reset()
            llama.eval(ids)
            ids.append(int(llama.scores[len(ids) - 1].argmax()))
        wanted.append(ids[-TOKENS:])
    assert _continued(model, opening, prompts) == wanted
    assert len({tuple(text) for text in wanted}) == len(prompts)
    assert _continued(model, opening[:0], [np.concatenate([opening, prompt]) for prompt in prompts]) == wanted
    monkeypatch.setattr("winnow_research.training.writing._TOGETHER", 2)
    assert _continued(model, opening, prompts) == wanted


@pytest.fixture(scope="module")
def linked(data: Dataset) -> Dataset:
    """The data set in which each function uses the next."""
    count = len(data.questions) - 1
    return replace(
        data,
        kinds=("cursor",),
        kind_of=np.zeros(count, np.int32),
        language_of=data.language_of[:count],
        questions=rows([data.questions[n] for n in range(count)], np.int32),
        golds=rows([data.golds[n + 1] for n in range(count)], np.int64),
        asked_at=np.array([data.golds[n][0] for n in range(count)]),
        quotes=data.quotes[:count],
    )


def test_how_likely_an_answer_is_is_what_llama_says(drafter: Path, model: Qwen2, texts: list[np.ndarray]) -> None:
    opening, *prompts = texts
    answers = [prompts[1], prompts[0][:3], prompts[2]]
    llama = llama_cpp.Llama(str(drafter), n_ctx=256, logits_all=True, verbose=False)
    wanted = []
    for prompt, answer in zip(prompts, answers, strict=True):
        ids = np.concatenate([opening, prompt, answer])
        llama.reset()
        llama.eval(ids.tolist())
        logits = torch.from_numpy(llama.scores[len(ids) - len(answer) - 1 : len(ids) - 1].copy())
        chances = logits.log_softmax(1)[torch.arange(len(answer)), torch.from_numpy(answer).long()]
        wanted.append(chances.mean().item())
    assert model.likelihoods(prompts, answers, model.opening(opening)) == pytest.approx(wanted, abs=1e-3)


def test_the_writers_judge_what_they_wrote(linked: Dataset, drafter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "How does a sale reach the coins?"
    monkeypatch.setattr(asking, "text_of", lambda *_: text)
    monkeypatch.setattr(asking, "_MATTERS", -1e9)  # whatever they say, all units are kept
    reports = []
    more = ask(linked, drafter, QuestionRecipe(CHAINED, questions=6, question_tokens=4), reports.append)
    asked = range(len(linked.questions), len(more.questions))
    assert len(asked) > 2
    assert all(2 <= len(more.golds[n]) <= 4 for n in asked)
    assert {report.stage for report in reports} == {"questions", "likelihoods"}
