"""The loop over bugs: find one that the tests notice, ask for a fix as an editor would, and have the tests judge it."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.config import FileRules
from winnow_engine.core import Budget, Cancellation, Folder, Sampling
from winnow_engine.editing.proposing import propose
from winnow_engine.editing.request import EditKind, WantedEdit
from winnow_engine.errors import BudgetError, EditError
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Cursor
from winnow_research.evaluation.fixes.mutants import Mutant, mutants
from winnow_research.evaluation.fixes.suites import Suite

MENDED, WRONG = "mended", "tests fail"


@dataclass(frozen=True, slots=True)
class Bug:
    """A mutant that tests notice, with what they say of it."""

    suite: Suite
    mutant: Mutant
    problem: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What came of a bug: `mended`, `tests fail`, or the name of the error by which the answer was refused.

    `restored` tells whether the line is as it was before the bug. `seconds` is wall clock, with the drafter's work on
    the changed file.
    """

    project: str
    path: str
    function: str
    bug: str
    outcome: str
    restored: bool
    seconds: float
    prompt_tokens: int
    answer_tokens: int
    diff: str

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def bugs(suite: Suite, seed: int) -> Iterator[Bug]:
    """Bugs of a project, its modules taking turns; modules whose tests fail as they are have none."""
    rng = random.Random(f"{seed}/{suite.name}")
    modules = sorted(suite.modules)
    rng.shuffle(modules)
    open_ = [_of_module(suite, path, random.Random(rng.random())) for path in modules]
    while open_:
        turn, open_ = open_, []
        for module in turn:
            for bug in islice(module, 1):
                yield bug
                open_.append(module)


def _of_module(suite: Suite, path: str, rng: random.Random) -> Iterator[Bug]:
    text = (suite.root / path).read_text(encoding="utf-8")
    if not suite.judge(path, text).passed:
        return
    for mutant in mutants(path, text, rng):
        verdict = suite.judge(path, mutant.text)
        if verdict.problem:
            yield Bug(suite, mutant, verdict.problem)


@dataclass(frozen=True)
class FixRun:
    """A target that is asked to fix bugs; `report` gets a line for each."""

    assistant: Assistant
    budget: Budget
    report: Callable[[str], None]
    cancellation: Cancellation

    def run(self, some: Iterable[Bug]) -> Iterator[Fix]:
        """What comes of each bug."""
        for bug in some:
            self.cancellation.check()
            fix = self._fix(bug)
            self.report(f"{bug.mutant.path} {bug.mutant.function}: {fix.outcome}")
            yield fix

    def _fix(self, bug: Bug) -> Fix:
        """Ask where the function begins: the tests do not say which line is wrong."""
        mutant, suite = bug.mutant, bug.suite
        file, started = suite.root / mutant.path, time.perf_counter()
        before = file.read_bytes()
        file.write_text(mutant.text, encoding="utf-8")
        rules = FileRules(include=(mutant.path, suite.modules[mutant.path]))
        request = WantedEdit(EditKind.FIX, Cursor(mutant.path, mutant.first, mutant.last), (bug.problem,))
        outcome, after, diff, tokens = "", "", "", (0, 0)
        try:
            sources = Sources((Folder(suite.root),), rules)
            proposal = propose(
                self.assistant, sources, request, self.budget, Sampling(), cancellation=self.cancellation
            )
            tokens = (proposal.generation.prompt_tokens, proposal.generation.decode_tokens)
            after, diff = proposal.edit.after.decode(), proposal.edit.diff
        except (EditError, BudgetError) as error:
            outcome = type(error).__name__
        finally:
            file.write_bytes(before)
        seconds = round(time.perf_counter() - started, 1)
        if not outcome:
            outcome = MENDED if suite.judge(mutant.path, after).passed else WRONG
        what = f"{mutant.line}: {mutant.old} -> {mutant.new}"
        return Fix(
            suite.name, mutant.path, mutant.function, what, outcome, after == before.decode(), seconds, *tokens, diff
        )


def outcomes(fixes: Iterable[Fix]) -> Mapping[str, int]:
    """How often each outcome came, `mended` first."""
    counted = Counter(fix.outcome for fix in fixes)
    return {MENDED: counted.pop(MENDED, 0), WRONG: counted.pop(WRONG, 0), **dict(sorted(counted.items()))}
