"""Prompts as the product makes them, and plain code, for a draft to be trained on: token ids of the target."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Progress, ProgressSink
from winnow_engine.index.workspace import Workspace
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.prompting.layout import build_messages
from winnow_engine.prompting.messages import Message
from winnow_engine.question import Question
from winnow_engine.targets.local.chat_template import CHATML, ChatTemplate
from winnow_research.errors import TrainingError
from winnow_research.evaluation.haystack import Haystack, Place, indexed, is_test
from winnow_research.evaluation.repositories import PinnedRepository
from winnow_research.training.dataset import Rows, rows

_QUESTIONS = (
    "Show me the code of `{name}`.",
    "Print `{name}` exactly as it stands, then say in one sentence what it is for.",
    "Where is `{name}` defined? Quote it.",
    "Copy out `{name}` and list what it calls.",
    "What does `{name}` do?",
    "How does `{name}` work, step by step?",
    "Describe in a paragraph, with no code, what `{name}` does and what it needs.",
    "Which other functions does `{name}` rely on, and for what?",
    "What happens in `{name}` if its input is empty or wrong?",
    "Add a docstring or comment to `{name}` and show the whole function.",
    "Write a unit test for `{name}`.",
    "Rewrite `{name}` so that it is easier to read, and show the new code.",
    "Add a log message at the start of `{name}` and show the changed function.",
    "Rename the first parameter of `{name}` to `value` and show the result.",
    "Is there a bug in `{name}`? Quote the lines that matter.",
    "Show how `{name}` is called, with an example.",
)
_COMPLETE = "Write the rest of this function. Reply with the complete code.\n\n{text}"
_CODE_SHARE = 0.25  # of all texts are plain code without a question
_COMPLETIONS = 0.25  # of the questions ask for a function whose beginning is shown
Texts: TypeAlias = list[NDArray[np.int32]]

_ROWS = ("asked", "code", "judged")


@dataclass(frozen=True, slots=True)
class PromptRecipe:
    """What prompts depend on besides the repositories: functions asked about in each, tokens of the longest."""

    functions: int = 50
    most_tokens: int = 1_280
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PromptData:
    """Texts in the target's tokens, in no order. `ends` are the tokens that end its answers."""

    asked: Rows
    code: Rows
    judged: Rows
    """Prompts about the development split."""
    ends: tuple[int, ...]

    def save(self, path: Path) -> None:
        """Write everything to one compressed file."""
        arrays: dict[str, NDArray[Any]] = {"ends": np.array(self.ends, np.int32)}
        for name in _ROWS:
            texts = getattr(self, name)
            arrays |= {name: texts.values, f"{name}.lengths": np.diff(texts.offsets).astype(np.int32)}
        with path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: Path) -> PromptData:
        """Read what `save` wrote. TrainingError if `path` is no such file."""
        try:
            with np.load(path, allow_pickle=False) as file:
                asked, code, judged = (
                    Rows(file[name], np.cumsum([0, *file[f"{name}.lengths"]], dtype=np.int64)) for name in _ROWS
                )
                return cls(asked, code, judged, tuple(file["ends"].tolist()))
        except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
            raise TrainingError(f"{path} holds no prompts of `winnow train prompts`: {error}; make it anew") from error


def prepare(
    repositories: Sequence[PinnedRepository],
    development: Sequence[PinnedRepository],
    target: Path,
    recipe: PromptRecipe,
    progress: ProgressSink,
    workers: int = 1,
    directory: Path | None = None,
) -> PromptData:
    """Prompts about some repositories to train on, and about others to judge by.

    Raises EvaluationError if an archive cannot be fetched, and the target's errors.
    """
    work = partial(_about, target=target, recipe=recipe, directory=directory)
    asked, code = _prompts(repositories, work, recipe, progress, workers)
    judged, _ = _prompts(development, work, recipe, progress, workers)
    vocabulary, _template = _loaded(target)
    ends = tuple(token for token in range(vocabulary.size) if vocabulary.is_end(token))
    return PromptData(asked, code, judged, ends)


def _prompts(
    repositories: Sequence[PinnedRepository],
    work: Callable[[PinnedRepository], tuple[Texts, Texts]],
    recipe: PromptRecipe,
    progress: ProgressSink,
    workers: int,
) -> tuple[Rows, Rows]:
    asked: Texts = []
    plain: Texts = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done, (some, code) in enumerate(pool.map(work, repositories), 1):
            asked += some
            plain += code
            progress(Progress("prompts", done, len(repositories)))
    order = random.Random(recipe.seed)
    order.shuffle(asked)
    order.shuffle(plain)
    return rows(asked, np.int32), rows(plain, np.int32)


def _about(
    repository: PinnedRepository, target: Path, recipe: PromptRecipe, directory: Path | None
) -> tuple[Texts, Texts]:
    rng = random.Random(f"{recipe.seed}/{repository.name}/draft")
    vocabulary, template = _loaded(target)
    haystack = Haystack(repository, indexed(repository.files(directory=directory)))
    workspace = Workspace(haystack.files)
    asked, plain = [], []
    for place in _functions(haystack, rng)[: recipe.functions]:
        if rng.random() < _CODE_SHARE:
            tokens = vocabulary.tokenize(_code_from(place))
            plain.append(tokens[: recipe.most_tokens])
        tokens = template.tokenize(list(_messages(workspace, place, rng)), vocabulary).tokens
        if len(tokens) <= recipe.most_tokens:
            asked.append(tokens.astype(np.int32))
    return asked, plain


def _functions(haystack: Haystack, rng: random.Random) -> list[Place]:
    found = [place for place in haystack.places if place.is_function and not is_test(place.file)]
    rng.shuffle(found)
    return found


def _messages(workspace: Workspace, place: Place, rng: random.Random) -> Iterator[Message]:
    if rng.random() < _COMPLETIONS:
        yield Message("user", _COMPLETE.format(text=_beginning(place.text, rng)))
        return
    question = Question(rng.choice(_QUESTIONS).format(name=place.unit.name))
    yield from build_messages(workspace, place.spans_around(int(rng.uniform(800, 5000))), question)


def _beginning(text: str, rng: random.Random) -> str:
    lines = text.splitlines()
    return "\n".join(lines[: rng.randint(1, max(1, len(lines) // 3))])


def _code_from(place: Place) -> str:
    return place.file.data[place.unit.start_byte :][:8000].decode("utf-8", "replace")


@lru_cache(maxsize=1)
def _loaded(target: Path) -> tuple[Vocabulary, ChatTemplate]:
    model = LlamaModel(target, vocabulary_only=True)
    vocabulary = Vocabulary(model)
    return vocabulary, ChatTemplate(model.chat_template or CHATML, vocabulary.special_texts())
