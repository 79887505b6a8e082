"""`winnow train ask`: a larger language model reads units, and writes questions that they answer.

The model sees units, alone or with the definitions they use (Dai et al. 2022, arXiv 2209.11755, section 3.1). The
kinds have instructions and examples in `ask.toml`: questions (*asked*), what a user reports (*reported*), entries of a
change log (*changed*), and questions about units that belong together (*chained*), where a unit is an answer if the
question is less likely to the model without it.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from winnow_cuda.shapes import Int32
from winnow_engine.core import ProgressSink
from winnow_engine.encoder.template import Template
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.errors import TrainingError
from winnow_research.evaluation.haystack import is_test_path
from winnow_research.training.adding import NewQuestion, paths_of, with_questions
from winnow_research.training.chains import chains
from winnow_research.training.dataset import Dataset
from winnow_research.training.writers import Writers

_TELLS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
KINDS: tuple[str, ...] = tuple(kind for kind, value in _TELLS.items() if isinstance(value, dict))
CHAINED = "chained"
_OF_CODE = ("describe", "name", "comment", "usage")  # kinds of questions whose golds are code
_MOST_TOGETHER = 1_000  # tokens
_MOST_UNITS = 3
_LEAST_WORDS = 5
_NAME = re.compile(r"[`_]|[a-z][A-Z]|\(\)|\w\.\w|::")  # what looks like a name from code
_MATTERS = 0.02  # nats a token by which a question must be likelier with a unit than without it


@dataclass(frozen=True, slots=True)
class QuestionRecipe:
    """How many units or groups to ask about (a third are groups), and how the questions of a kind are sampled."""

    kind: str = KINDS[0]
    questions: int = 48_000
    least_tokens: int = 50
    """The least tokens of a unit that is asked about alone. Smaller units say too little."""
    most_tokens: int = 600
    question_tokens: int = 48
    temperature: float = 0.7
    seed: int = 0


@dataclass(frozen=True, slots=True)
class QuestionSubject:
    """Units that one question will be about, how the question begins, and the words put around it.

    `asking` names what the model is told besides, an entry of the kind in `ask.toml`.
    """

    units: tuple[int, ...]
    language: int
    opening: str
    wording: str = "{}"
    asking: str = ""


def ask(data: Dataset, model: Path, recipe: QuestionRecipe, progress: ProgressSink) -> Dataset:
    """The data set with questions added that `model`, the GGUF of a Qwen2, has written.

    All GPUs share the batches; without a GPU it takes days. Raises TrainingError if the model's tokens differ from
    those of `data`, or if `data` has questions of the recipe's kind already; and the model's errors.
    """
    vocabulary = Vocabulary(LlamaModel(model, vocabulary_only=True))
    _check(data, vocabulary, model, recipe.kind)
    paths = paths_of(data, vocabulary)
    subjects = chosen(data, vocabulary, paths, recipe)
    source = _Source(data, vocabulary, paths, recipe.kind)
    opening = _opening(vocabulary, recipe.kind)
    with Writers(model, opening, progress) as writers:
        prompts = [source.prompt(subject, subject.opening) for subject in subjects]
        written = writers.write(prompts, recipe.question_tokens, recipe.temperature, recipe.seed)
        texts = (
            (subject, text_of(recipe.kind, subject, text)) for subject, text in zip(subjects, written, strict=True)
        )
        asked = [NewQuestion(text, subject.units, subject.language) for subject, text in texts if text is not None]
        if recipe.kind == CHAINED:
            asked = _needed(writers, source, asked)
    return with_questions(data, Template(vocabulary), recipe.kind, asked)


def _needed(writers: Writers, source: _Source, asked: Sequence[NewQuestion]) -> list[NewQuestion]:
    """The questions with those units without which they are less likely; none with fewer than two."""
    shown = [units for one in asked for units in (one.golds, *_without_one(one.golds))]
    texts = [one.text for one in asked for _ in range(1 + len(one.golds))]
    prompts = [source.prompt(QuestionSubject(units, 0, "")) for units in shown]
    answers = [source.vocabulary.tokenize(text) for text in texts]
    found = iter(writers.likelihoods(prompts, answers))
    needed = []
    for one in asked:
        whole, *others = (next(found) for _ in range(1 + len(one.golds)))
        golds = tuple(unit for unit, left in zip(one.golds, others, strict=True) if whole - left > _MATTERS)
        if len(golds) > 1:
            needed.append(replace(one, golds=golds))
    return needed


def _without_one(units: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [units[:n] + units[n + 1 :] for n in range(len(units))]


def _check(data: Dataset, vocabulary: Vocabulary, model: Path, kind: str) -> None:
    data.require_files()
    if kind in data.kinds:
        raise TrainingError(f"the data set has questions of the kind {kind} already: take it as it was before")
    if Template(vocabulary).prefix.tolist() != data.prefix.tolist():
        raise TrainingError(
            f"{model.name} has other tokens than the data set: choose a larger model of the drafter's kind"
        )


def chosen(
    data: Dataset, vocabulary: Vocabulary, paths: Sequence[str], recipe: QuestionRecipe
) -> list[QuestionSubject]:
    """What to ask about, and how."""
    rng = random.Random(f"{recipe.seed}/{recipe.kind}")
    tells = _TELLS[recipe.kind]
    chained = recipe.kind == CHAINED
    some = chains(data, vocabulary, paths, recipe.questions, rng) if chained else _functions(data, paths, recipe, rng)
    subjects = [QuestionSubject(units, language, rng.choice(tells["openings"])) for units, language in some]
    worded = [replace(subject, wording=rng.choice(tells["wordings"])) for subject in subjects]
    return [replace(one, asking=rng.choice(("with_names", "without_names"))) for one in worded] if chained else worded


def _functions(
    data: Dataset, paths: Sequence[str], recipe: QuestionRecipe, rng: random.Random
) -> list[tuple[tuple[int, ...], int]]:
    """Functions outside tests, none twice, and functions with the definitions they use; each with its language."""
    sizes = np.diff(data.units.offsets)
    fair = range(recipe.least_tokens, recipe.most_tokens + 1)
    shown = [not is_test_path(path) for path in paths]
    singles: dict[int, tuple[tuple[int, ...], int]] = {}
    groups: dict[tuple[int, ...], int] = {}
    for number, kind in enumerate(data.kind_of.tolist()):
        units, language = data.golds[number].tolist(), int(data.language_of[number])
        if data.kinds[kind] == "cursor":
            together = (int(data.asked_at[number]), *units[: _MOST_UNITS - 1])
            if sizes[list(together)].sum() <= _MOST_TOGETHER and shown[data.file_of(together[0])]:
                groups[together] = language
        elif data.kinds[kind] in _OF_CODE and sizes[units[0]] in fair and shown[data.file_of(units[0])]:
            singles.setdefault(int(data.twins[units[0]]), ((units[0],), language))
    third = min(len(groups), recipe.questions // 3)
    some = rng.sample(sorted(groups.items()), third)
    return some + rng.sample(sorted(singles.values()), min(len(singles), recipe.questions - third))


def text_of(kind: str, subject: QuestionSubject, written: str) -> str | None:
    """The question: the subject's opening and the first line that the model added, in the subject's wording.

    None if it is not a sentence of this kind, or refers to code that its reader does not see.
    """
    text = (subject.opening + written).strip().split("\n")[0].strip()
    plain = text.lower()
    good = text.endswith(tuple(_TELLS[kind]["ends"])) and len(text.split()) >= _LEAST_WORDS and text.isprintable()
    refused = any(phrase in plain for phrase in _TELLS["refused"])
    refused |= subject.asking == "without_names" and _NAME.search(text) is not None
    return subject.wording.format(text) if good and not refused else None


def _turn(vocabulary: Vocabulary, role: str, *text: Int32) -> Int32:
    start = vocabulary.tokenize(f"<|im_start|>{role}\n", special=True)
    return np.concatenate([start, *text, vocabulary.tokenize("<|im_end|>\n", special=True)])


def _opening(vocabulary: Vocabulary, kind: str) -> Int32:
    """The common beginning of all prompts: the instructions, and examples."""
    turns = [_turn(vocabulary, "system", vocabulary.tokenize(_TELLS[kind]["system"]))]
    for example in (one for one in _TELLS["examples"] if kind in one):
        shown = example["code"].strip() + _asking(kind, example.get("asking", ""))
        turns.append(_turn(vocabulary, "user", vocabulary.tokenize(shown)))
        turns.append(_turn(vocabulary, "assistant", vocabulary.tokenize(example[kind])))
    return np.concatenate(turns)


def _asking(kind: str, name: str) -> str:
    return f"\n\n{_TELLS[kind][name]}" if name else ""


@dataclass(frozen=True)
class _Source:
    """Where the units of a prompt come from."""

    data: Dataset
    vocabulary: Vocabulary
    paths: Sequence[str]
    kind: str

    def prompt(self, subject: QuestionSubject, answer: str = "") -> Int32:
        """The rest of a prompt: the units, without lines that other questions quote, and how the answer begins."""
        data, tokens = self.data, self.vocabulary.tokenize
        parts = []
        for unit in subject.units:
            path = self.paths[data.file_of(unit)]
            parts += [tokens(f"{path}\n"), data.bare[unit] if len(data.bare[unit]) else data.units[unit]]
        parts.append(tokens(_asking(self.kind, subject.asking)))
        start = self.vocabulary.tokenize("<|im_start|>assistant\n", special=True)
        return np.concatenate([_turn(self.vocabulary, "user", *parts), start, tokens(answer)])
