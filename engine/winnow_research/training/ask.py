"""`winnow train ask`: a larger language model reads units, and writes questions that they answer.

The questions that rules make (`examples`) say what a comment says. People ask about behaviour, in words of their own,
and the answer is often in several places. So a model is shown units, alone or with the definitions they use, and asked
for the question. Dai et al. (2022, arXiv 2209.11755, section 3.1) train retrievers with such questions. There are
several kinds, each with instructions and examples in `ask.toml`: questions (*asked*), what a user reports (*reported*),
and entries of a change log (*changed*).
"""

from __future__ import annotations

import os
import random
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from winnow_cuda.shapes import Int32
from winnow_engine.core import Progress, ProgressSink
from winnow_engine.drafter.template import Template
from winnow_engine.errors import TrainingError
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.evaluation.haystack import is_test_path
from winnow_research.training.dataset import Dataset, rows
from winnow_research.training.text_writer import TextWriter

_TELLS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
KINDS: tuple[str, ...] = tuple(kind for kind, value in _TELLS.items() if isinstance(value, dict))
_OF_CODE = ("describe", "name", "comment", "usage")  # kinds of questions whose golds are code
_MOST_TOGETHER = 1_000  # tokens
_MOST_UNITS = 3
_LEAST_WORDS = 5
_BATCH_TOKENS = 400_000  # of prompts and their common beginning: 11 GB of keys and values for a model of 1.5B


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
    """Units that one question will be about, how the question begins, and the words put around it."""

    units: tuple[int, ...]
    language: int
    opening: str
    wording: str = "{}"


def ask(data: Dataset, model: Path, recipe: QuestionRecipe, progress: ProgressSink) -> Dataset:
    """The data set with questions added that `model`, the GGUF of a Qwen2, has written.

    All GPUs share the batches; without a GPU it takes days. Raises TrainingError if the model's tokens differ from
    those of `data`, or if `data` has questions of the recipe's kind already; and the model's errors.
    """
    vocabulary = Vocabulary(LlamaModel(model, vocabulary_only=True))
    _check(data, vocabulary, model, recipe.kind)
    paths = paths_of(data, vocabulary)
    subjects = chosen(data, paths, recipe)
    prompts = [_prompt(data, vocabulary, paths, subject) for subject in subjects]
    by_length = sorted(range(len(subjects)), key=lambda number: len(prompts[number]))
    opening = _opening(vocabulary, recipe.kind)
    sizes = [len(opening) + len(prompt) for prompt in prompts]
    groups = list(batches(by_length, sizes, _BATCH_TOKENS))
    context = get_context("spawn")
    names = _devices()
    devices: Queue[str] = context.Queue()
    for name in names:
        devices.put(name)
    written: dict[int, str] = {}
    with ProcessPoolExecutor(len(names), context, _take, (devices,)) as pool:
        work = [_Work(model, number, opening, [prompts[n] for n in b], recipe) for number, b in enumerate(groups)]
        for done, (batch, answers) in enumerate(zip(groups, pool.map(_write, work), strict=True), 1):
            written.update(zip(batch, answers, strict=True))
            progress(Progress("questions", done, len(groups)))
    texts = [(subject, text_of(recipe.kind, subject, written[n])) for n, subject in enumerate(subjects)]
    asked = [(subject, text) for subject, text in texts if text is not None]
    return added(data, Template(vocabulary), recipe.kind, asked)


def _check(data: Dataset, vocabulary: Vocabulary, model: Path, kind: str) -> None:
    if kind in data.kinds:
        raise TrainingError(f"the data set has questions of the kind {kind} already: take it as it was before")
    if Template(vocabulary).prefix.tolist() != data.prefix.tolist():
        raise TrainingError(
            f"{model.name} has other tokens than the data set: choose a larger model of the drafter's kind"
        )


def chosen(data: Dataset, paths: Sequence[str], recipe: QuestionRecipe) -> list[QuestionSubject]:
    """What to ask about: functions outside tests, none twice, and functions with the definitions they use."""
    rng = random.Random(f"{recipe.seed}/{recipe.kind}")
    tells = _TELLS[recipe.kind]
    sizes = np.diff(data.units.offsets)
    fair = range(recipe.least_tokens, recipe.most_tokens + 1)
    shown = [not is_test_path(path) for path in paths]
    singles: dict[int, tuple[tuple[int, ...], int]] = {}
    groups: dict[tuple[int, ...], int] = {}
    for number, kind in enumerate(data.kind_of.tolist()):
        units, language = data.golds[number].tolist(), int(data.language_of[number])
        if data.kinds[kind] == "cursor":
            together = (int(data.asked_at[number]), *units[: _MOST_UNITS - 1])
            if sizes[list(together)].sum() <= _MOST_TOGETHER and shown[_file(data, together[0])]:
                groups[together] = language
        elif data.kinds[kind] in _OF_CODE and sizes[units[0]] in fair and shown[_file(data, units[0])]:
            singles.setdefault(int(data.twins[units[0]]), ((units[0],), language))
    third = min(len(groups), recipe.questions // 3)
    some = rng.sample(sorted(groups.items()), third)
    some += rng.sample(sorted(singles.values()), min(len(singles), recipe.questions - third))
    subjects = [QuestionSubject(units, language, rng.choice(tells["openings"])) for units, language in some]
    return [replace(subject, wording=rng.choice(tells["wordings"])) for subject in subjects]


def text_of(kind: str, subject: QuestionSubject, written: str) -> str | None:
    """The question: the subject's opening and the first line that the model added, in the subject's wording.

    None if it is not a sentence of this kind, or refers to code that its reader does not see.
    """
    text = (subject.opening + written).strip().split("\n")[0].strip()
    plain = text.lower()
    good = text.endswith(tuple(_TELLS[kind]["ends"])) and len(text.split()) >= _LEAST_WORDS and text.isprintable()
    refused = any(phrase in plain for phrase in _TELLS["refused"])
    return subject.wording.format(text) if good and not refused else None


def _file(data: Dataset, unit: int) -> int:
    return int(np.searchsorted(data.file_units, unit, "right")) - 1


def paths_of(data: Dataset, vocabulary: Vocabulary) -> list[str]:
    """Each file's path, as its header shows it."""
    return [vocabulary.text(data.headers[file].tolist()).strip() for file in range(len(data.headers))]


def _turn(vocabulary: Vocabulary, role: str, *text: Int32) -> Int32:
    start = vocabulary.tokenize(f"<|im_start|>{role}\n", special=True)
    return np.concatenate([start, *text, vocabulary.tokenize("<|im_end|>\n", special=True)])


def _opening(vocabulary: Vocabulary, kind: str) -> Int32:
    """The common beginning of all prompts: the instructions, and examples."""
    turns = [_turn(vocabulary, "system", vocabulary.tokenize(_TELLS[kind]["system"]))]
    for example in _TELLS["examples"]:
        turns.append(_turn(vocabulary, "user", vocabulary.tokenize(example["code"].strip())))
        turns.append(_turn(vocabulary, "assistant", vocabulary.tokenize(example[kind])))
    return np.concatenate(turns)


def _prompt(data: Dataset, vocabulary: Vocabulary, paths: Sequence[str], subject: QuestionSubject) -> Int32:
    """The rest of a prompt: the units, without lines that other questions quote, and how the answer begins."""
    parts = []
    for unit in subject.units:
        path = paths[_file(data, unit)]
        parts += [vocabulary.tokenize(f"{path}\n"), data.bare[unit] if len(data.bare[unit]) else data.units[unit]]
    answer = vocabulary.tokenize("<|im_start|>assistant\n", special=True)
    return np.concatenate([_turn(vocabulary, "user", *parts), answer, vocabulary.tokenize(subject.opening)])


def batches(order: Sequence[int], sizes: Sequence[int], most_tokens: int) -> Iterator[list[int]]:
    """Batches of prompts, by number, of about the same length. `order` goes from short to long; `sizes` are tokens."""
    batch: list[int] = []
    for number in order:
        if batch and (len(batch) + 1) * sizes[number] > most_tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


@dataclass(frozen=True)
class _Work:
    model: Path
    number: int
    opening: Int32
    prompts: Sequence[Int32]
    recipe: QuestionRecipe


def _devices() -> list[str]:
    """The GPUs this process may use, as CUDA_VISIBLE_DEVICES names them; one empty name if there is none."""
    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(count)))
    return visible.split(",")[:count] or [""]


def _take(devices: Queue[str]) -> None:
    """Let this process see one device only: llama.cpp would make the last device it sees the current one."""
    os.environ["CUDA_VISIBLE_DEVICES"] = devices.get()


def _write(work: _Work) -> list[str]:
    writer, vocabulary = _loaded(work.model)
    recipe = work.recipe
    chance = 1_000_000 * recipe.seed + work.number
    found = writer.write(work.opening, work.prompts, recipe.question_tokens, recipe.temperature, chance)
    return [vocabulary.text(ids) for ids in found]


@lru_cache(maxsize=1)
def _loaded(model: Path) -> tuple[TextWriter, Vocabulary]:
    vocabulary = Vocabulary(LlamaModel(model, vocabulary_only=True))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return TextWriter(model, vocabulary.is_end, device), vocabulary


def added(data: Dataset, template: Template, kind: str, asked: Sequence[tuple[QuestionSubject, str]]) -> Dataset:
    """The data set with these questions of a new kind after its own."""
    count = len(asked)
    golds: list[Sequence[int] | NDArray[Any]] = [
        *(data.golds[n] for n in range(len(data.golds))),
        *(subject.units for subject, _ in asked),
    ]
    texts = [
        *(data.questions[n] for n in range(len(data.questions))),
        *(template.question(text).ids for _, text in asked),
    ]
    languages = np.array([subject.language for subject, _ in asked], np.int32)
    return replace(
        data,
        kinds=(*data.kinds, kind),
        kind_of=np.concatenate([data.kind_of, np.full(count, len(data.kinds), np.int32)]),
        language_of=np.concatenate([data.language_of, languages]),
        questions=rows(texts, np.int32),
        golds=rows(golds, np.int64),
        asked_at=np.concatenate([data.asked_at, np.full(count, -1, np.int64)]),
        quotes=np.concatenate([data.quotes, np.zeros(count, np.bool_)]),
    )
