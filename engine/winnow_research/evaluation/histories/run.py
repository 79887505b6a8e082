"""Asks each question about a history with each way to answer it, and counts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

from winnow_engine.core import Cancellation
from winnow_engine.errors import GitError
from winnow_engine.git.repository import Repository
from winnow_research.evaluation.figures import Estimate, wilson
from winnow_research.evaluation.histories.clones import Pin, at_commit

Report = Callable[[str], None]
"""Called with a few words about what is being worked on."""


@dataclass(frozen=True, slots=True)
class Answered:
    """How one method did on one question: shares from 0 to 1 by what was asked, such as "first" or "any of 6"."""

    task: str
    repository: str
    question: str
    kind: str
    method: str
    scores: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """As JSON, a row for a question and method."""
        return asdict(self)


@dataclass
class Histories:
    """What questions are made of: clones at their pinned commits. `absent` collects why a method could not answer."""

    clones: Mapping[Pin, Repository]
    questions: int
    seed: int
    report: Report
    cancellation: Cancellation = field(default_factory=Cancellation)
    absent: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def past(self, pin: Pin) -> Iterator[Repository]:
        """A clone's history up to the pinned commit, which is checked out."""
        with tempfile.TemporaryDirectory() as folder:
            yield at_commit(self.clones[pin], pin.commit, Path(folder))

    def tried(self, method: str, find: Callable[[], Sequence[str]]) -> Sequence[str] | None:
        """What a method finds; None, and noted, if git cannot do that in this clone."""
        try:
            return find()
        except GitError as error:
            self.absent[method] = str(error)
            return None


@dataclass(frozen=True, slots=True)
class Figure:
    """The mean of one score of a method over a group of questions, `all` or those of a kind, with its 95% interval."""

    task: str
    group: str
    method: str
    name: str
    cases: int
    estimate: Estimate

    def as_json(self) -> dict[str, Any]:
        """As JSON: the score as [value, low, high], rounded to 4 digits."""
        score = [round(number, 4) for number in astuple(self.estimate)]
        return {**asdict(self), "estimate": score}


def figures(rows: Iterable[Answered]) -> list[Figure]:
    """A figure for each task, group, method and score, in the order in which rows come in, `all` first."""
    shares: dict[tuple[str, str, str, str], list[float]] = {}
    rows = list(rows)
    for group in ("all", *dict.fromkeys(row.kind for row in rows)):
        for row in rows:
            for name, share in row.scores.items() if group in ("all", row.kind) else ():
                shares.setdefault((row.task, group, row.method, name), []).append(share)
    order = list(dict.fromkeys(row.method for row in rows))
    tasks = list(dict.fromkeys(row.task for row in rows))
    keys = sorted(shares, key=lambda key: (tasks.index(key[0]), key[1] != "all", key[1], order.index(key[2])))
    return [Figure(*key, len(shares[key]), wilson(sum(shares[key]), len(shares[key]))) for key in keys]


@dataclass(frozen=True, slots=True)
class CommitQuestion:
    """A question whose answer is a commit: what was asked of it, which kind it is, and that commit.

    `cuts` name how many of the commits that a method finds may count.
    """

    task: str
    repository: str
    question: str
    kind: str
    commit: str
    cuts: Mapping[str, int]

    def answered(self, method: str, found: Sequence[str]) -> Answered:
        """The row of a method that finds some commits, best first: is it the one among so many first ones?"""
        scores = {name: float(self.commit in found[:most]) for name, most in self.cuts.items()}
        question = f"{self.question} {self.commit[:10]}"
        return Answered(self.task, self.repository, question, self.kind, method, scores)
