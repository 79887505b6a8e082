"""Ways to find the commit that a question is about, without Winnow: what git offers, and words of messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from winnow_engine.git.objects import Commit
from winnow_engine.git.repository import Repository
from winnow_engine.history.blame_chain import parse_porcelain
from winnow_engine.index.bm25 import LexicalIndex
from winnow_research.evaluation.histories.small_commits import all_commits

_LOG_S = 300.0  # of one search through a whole history


@dataclass
class Finders:
    """What there is to compare with, for one repository at its checked-out commit. Each finds commits, best first."""

    repository: Repository
    _blamed: dict[str, dict[int, str]] = field(default_factory=dict)

    @cached_property
    def commits(self) -> list[Commit]:
        """Every commit but merges, newest first."""
        return all_commits(self.repository)

    @cached_property
    def _messages(self) -> LexicalIndex:
        return LexicalIndex.of_texts(one.message for one in self.commits)

    def blame(self, path: str, lines: Iterable[int]) -> list[str]:
        """The commits of some lines by plain `git blame`, those with most lines first."""
        blamed = self.blamed(path)
        return [commit for commit, _ in Counter(blamed[line] for line in lines).most_common()]

    def blamed(self, path: str) -> dict[int, str]:
        """The commit of each line of a file by plain `git blame`."""
        if path not in self._blamed:
            output = self.repository.git.run("blame", "--porcelain", "--ignore-revs-file=", "HEAD", "--", path)
            self._blamed[path] = {one.line: one.commit for one in parse_porcelain(output)}
        return self._blamed[path]

    def content(self, path: str) -> bytes:
        """A file as the checked-out commit has it."""
        return self.repository.git.run("cat-file", "blob", f"HEAD:{path}")

    def pickaxe(self, text: str, most: int) -> list[str]:
        """The commits that change how often a text occurs in a file, newest first: `git log -S`. Raises GitError."""
        return self._log(f"-S{text}", f"-{most}")

    def grep(self, words: Sequence[str], most: int) -> list[str]:
        """The commits whose messages have all of some words, newest first: `git log --grep`. Raises GitError."""
        return self._log(*(f"--grep={word}" for word in words), "--all-match", "-F", "-i", f"-{most}")

    def bm25(self, query: str, most: int) -> list[str]:
        """The commits by BM25 of their messages, those without a word of the query left out."""
        scores = self._messages.score(query)
        order = np.argsort(-scores, kind="stable")[:most].tolist()
        return [self.commits[n].id for n in order if scores[n] > 0]

    def _log(self, *options: str) -> list[str]:
        output = self.repository.git.run("log", "--no-merges", "--format=%H", *options, "HEAD", timeout_s=_LOG_S)
        return output.decode("ascii").split()
