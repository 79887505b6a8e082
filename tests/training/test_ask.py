"""Questions that a language model writes: what about, that it writes what llama.cpp would, and what is refused."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import llama_cpp
import numpy as np
import pytest
import torch

from winnow_engine.errors import TrainingError
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.cli.train.data import ask as command
from winnow_research.training import ask as asking
from winnow_research.training.adding import paths_of
from winnow_research.training.ask import CHAINED, KINDS, QuestionRecipe, QuestionSubject, ask, chosen, text_of
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


def test_a_text_ends_where_the_model_ends_it(model: Qwen2, texts: list[np.ndarray]) -> None:
    opening, *prompts = texts
    whole = _continued(model, opening, prompts)
    end = whole[0][3]
    cut = [text[: text.index(end) + 1] if end in text else text for text in whole]
    assert _continued(model, opening, prompts, ends=(end,)) == cut


def test_equal_seeds_draw_equal_texts_and_others_do_not(model: Qwen2, texts: list[np.ndarray]) -> None:
    opening, *prompts = texts

    def drawn(seed: int) -> list[list[int]]:
        torch.manual_seed(seed)
        return _continued(model, opening, prompts, heat=1)

    first, again, other = (drawn(seed) for seed in (1, 1, 2))
    assert first == again != other


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


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_asked_about_depends_on_kind_and_seed_alone(
    data: Dataset, linked: Dataset, vocabulary: Vocabulary, kind: str
) -> None:
    recipe, paths = QuestionRecipe(kind, questions=6, least_tokens=10), paths_of(data, vocabulary)
    about = linked if kind == CHAINED else data
    first, again = (chosen(about, vocabulary, paths, recipe) for _ in range(2))
    assert first
    assert first == again != chosen(about, vocabulary, paths, replace(recipe, seed=1))


@pytest.mark.parametrize(
    ("kind", "written", "kept"),
    [
        ("asked", " are stale entries removed?\nAnswer:", "How are stale entries removed?"),
        ("asked", " does this function return when empty?", None),
        ("asked", " entries are removed after a day.", None),
        ("asked", " so?", None),
        ("asked", " is \x00 the header of a message read?", None),
        (
            "reported",
            " often the cache is emptied is a riddle. What decides?",
            "How often the cache is emptied is a riddle. What decides?",
        ),
        ("changed", " long entries stay can be set now.", "How long entries stay can be set now."),
        ("changed", " long do entries stay now?", None),
        ("changed", " long entries stay can be", None),
        ("chained", " do carts reach Till.pay_now and the coins?", "How do carts reach Till.pay_now and the coins?"),
    ],
)
def test_only_what_makes_sense_by_itself_is_taken(kind: str, written: str, kept: str | None) -> None:
    assert text_of(kind, QuestionSubject((0,), 0, "How"), written) == kept


def test_where_names_are_withheld_none_is_taken() -> None:
    subject = QuestionSubject((0, 1), 0, "How", asking="without_names")
    for written in (
        " does pay_now end?",
        " does `pay` end a sale?",
        " does payNow() end it?",
        " does Till::pay end it?",
    ):
        assert text_of(CHAINED, subject, written) is None
    assert text_of(CHAINED, subject, " does a sale end?") == "How does a sale end?"


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


def test_units_without_which_a_question_is_as_likely_are_no_answers(
    linked: Dataset, drafter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first unit of a chain never matters here, and the others do."""

    class Judge(asking.Writers):
        def write(self, prompts: Sequence[np.ndarray], *_: object) -> list[str]:
            return [" does a sale reach the coins?"] * len(prompts)

        def likelihoods(self, prompts: Sequence[np.ndarray], answers: Sequence[np.ndarray]) -> list[float]:
            found: list[float] = []
            for chain in chains:
                found += [-1.0, -1.01, *(-2.0 for _ in chain.units[1:])]
            assert len(found) == len(prompts) == len(answers)
            return found

    recipe = QuestionRecipe(CHAINED, questions=6)
    vocabulary = Vocabulary(LlamaModel(drafter, vocabulary_only=True))
    monkeypatch.setattr(asking, "Writers", Judge)
    monkeypatch.setitem(asking._TELLS[CHAINED], "openings", ["How"])
    chains = chosen(linked, vocabulary, paths_of(linked, vocabulary), recipe)
    more = ask(linked, drafter, recipe, lambda _: None)
    asked = range(len(linked.questions), len(more.questions))
    assert [more.golds[n].tolist() for n in asked] == [list(one.units[1:]) for one in chains if len(one.units) > 2]
    assert len(asked) > 0


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


def test_the_command_offers_every_kind() -> None:
    (offered,) = (option.type for option in command.params if option.name == "kind")
    assert tuple(offered.choices) == KINDS


def test_a_wording_is_put_around_what_was_written() -> None:
    subject = QuestionSubject((0,), 0, "Fix", "Which code has to change: {}")
    assert text_of("changed", subject, " a {crash} at exit.") == "Which code has to change: Fix a {crash} at exit."


def test_a_model_that_writes_nothing_sensible_adds_nothing(data: Dataset, drafter: Path) -> None:
    reports = []
    more = ask(data, drafter, QuestionRecipe(questions=3, least_tokens=10, question_tokens=4), reports.append)
    assert len(more.questions) == len(data.questions)
    assert reports[-1].done == reports[-1].total


def test_a_data_set_of_other_tokens_or_with_such_questions_is_refused(data: Dataset, drafter: Path) -> None:
    other = replace(data, prefix=data.prefix + 1)
    with pytest.raises(TrainingError, match="other tokens"):
        ask(other, drafter, QuestionRecipe(questions=3), lambda _: None)
    with pytest.raises(TrainingError, match="already"):
        ask(
            replace(data, kinds=(*data.kinds, "reported")),
            drafter,
            QuestionRecipe("reported", questions=3),
            lambda _: None,
        )
