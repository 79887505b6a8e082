"""The files of one split, put together into workspaces of a wanted size."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.evaluation.haystack import Haystack, indexed
from winnow_research.evaluation.repositories import PinnedRepository, SourceFile, Split, repositories

T = TypeVar("T")

# A workspace of one file is no haystack.
_LARGEST_SHARE = 1 / 3


@dataclass(frozen=True)
class Corpus:
    """Repositories of one split. `count` counts a text's tokens. Equal seeds give equal workspaces and questions.

    `questions` is the most cases a scene may have. `asked` names the only repository to ask about, None for all; the
    others fill up its workspaces in either case.
    """

    repositories: tuple[PinnedRepository, ...]
    count: Callable[[str], int]
    questions: int = 32
    seed: int = 0
    directory: Path | None = None
    asked: str | None = None
    _files: dict[str, tuple[SourceFile, ...]] = field(default_factory=dict)
    _tokens: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert len({one.split for one in self.repositories}) <= 1, "a corpus never crosses the split"

    @property
    def subjects(self) -> tuple[PinnedRepository, ...]:
        """The repositories to ask about."""
        return tuple(one for one in self.repositories if self.asked in (None, one.name))

    def files(self, repository: PinnedRepository) -> tuple[SourceFile, ...]:
        """A repository's files, fetched on first use."""
        if repository.name not in self._files:
            self._files[repository.name] = repository.files(directory=self.directory)
        return self._files[repository.name]

    def haystacks(self, tokens: int) -> Iterator[Haystack]:
        """A workspace of at most `tokens` tokens for each repository to ask about."""
        for repository in self.subjects:
            yield self.haystack(repository, self.files(repository), tokens)

    def haystack(
        self, repository: PinnedRepository, files: Iterable[SourceFile], tokens: int, first: Set[str] = frozenset()
    ) -> Haystack:
        """A workspace of as many of `files` as fit, taken at random, those whose path is in `first` before all others.

        What room is left goes to files of other repositories, those of the same language first.
        """
        rng = self.rng(repository, "files")
        ordered = sorted(_shuffled(files, rng), key=lambda file: file.path not in first)
        chosen, room = self._fitting(ordered, tokens, tokens)
        for other in self._others(repository, rng):
            if room < tokens // 50:
                break
            more, room = self._fitting(_shuffled(self.files(other), rng), room, tokens)
            chosen += more
        return Haystack(repository, indexed(sorted(chosen, key=lambda file: file.path)))

    def rng(self, repository: PinnedRepository, purpose: str) -> random.Random:
        """A random generator for a repository and a purpose, the same in every run."""
        return random.Random(f"{self.seed}/{repository.name}/{purpose}")

    def _others(self, repository: PinnedRepository, rng: random.Random) -> list[PinnedRepository]:
        others = _shuffled((one for one in self.repositories if one.name != repository.name and not one.only_real), rng)
        return sorted(others, key=lambda other: other.language != repository.language)

    def _fitting(self, files: Iterable[SourceFile], room: int, tokens: int) -> tuple[list[SourceFile], int]:
        chosen = []
        for file in files:
            size = self._tokens_of(file)
            if size <= min(room, tokens * _LARGEST_SHARE):
                chosen.append(file)
                room -= size
        return chosen, room

    def _tokens_of(self, file: SourceFile) -> int:
        key = hash((file.path, file.data))
        if key not in self._tokens:
            self._tokens[key] = self.count(file.data.decode("utf-8", "replace"))
        return self._tokens[key]


def corpus_of(split: Split, drafter: Path, questions: int, seed: int = 0) -> Corpus:
    """The corpus of a split. Sizes are in tokens of `drafter`, a GGUF file."""
    vocabulary = Vocabulary(LlamaModel(drafter, vocabulary_only=True))
    return Corpus(repositories(split), lambda text: len(vocabulary.tokenize(text)), questions, seed)


def _shuffled(items: Iterable[T], rng: random.Random) -> list[T]:
    found = list(items)
    rng.shuffle(found)
    return found
