"""Asks each question about a history with each way to answer it, and counts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from winnow_engine.core import Cancellation
from winnow_engine.errors import GitError
from winnow_engine.git.repository import Repository
from winnow_research.evaluation.histories.clones import Pin, at_commit
from winnow_research.evaluation.scores import Result

Report = Callable[[str], None]
"""Called with a few words about what is being worked on."""


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
class CommitQuestion:
    """A question whose answer is a commit, and its kind.

    `cuts` name how many of the commits that a method finds may count.
    """

    task: str
    kind: str
    commit: str
    cuts: Mapping[str, int]

    def results(self, method: str, found: Sequence[str]) -> Iterator[Result]:
        """Whether a method that finds some commits, best first, has it among so many; over all kinds and its own."""
        for group in (self.task, f"{self.task}, {self.kind}"):
            for name, most in self.cuts.items():
                yield Result(f"{group}, {name}", method, 0, float(self.commit in found[:most]))
