"""*impact*: how many of the callers and tests that a change had to touch are kept within a budget?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Folder
from winnow_engine.git.repository import Repository
from winnow_engine.index.workspace import Sources, read_workspace
from winnow_engine.question import Cursor, Question
from winnow_engine.storage.store import Store
from winnow_research.evaluation.cases import Gold
from winnow_research.evaluation.histories.folders import lay_out
from winnow_research.evaluation.histories.impact import ImpactCase, impact_cases
from winnow_research.evaluation.histories.run import Answered, Histories
from winnow_research.evaluation.methods.base import Subject, by_units

ASKED = "What could this break?"

Lines = Mapping[str, set[int]]


@dataclass(frozen=True)
class Means:
    """What answers: an assistant, and BM25, within the same number of tokens as the assistant's drafter counts them.

    With `budget.first_look_tokens` only what matters for a question is encoded, else the whole repository.
    """

    assistant: Assistant
    store: Store
    budget: Budget

    @property
    def tokens(self) -> int:
        """How many tokens of code are kept."""
        assert self.budget.keep_tokens is not None, "methods are compared within a fixed budget"
        return self.budget.keep_tokens


def answered_impact(histories: Histories, means: Means) -> Iterator[Answered]:
    """A row for each question and method."""
    for pin, clone in histories.clones.items():
        with histories.past(pin) as repository, tempfile.TemporaryDirectory() as folder:
            for case in impact_cases(repository, histories.questions):
                histories.report(f"impact {pin.name} {case.commit[:10]} {case.name}")
                for method, lines in _kept(case, clone, Path(folder), means, histories):
                    yield Answered("impact", pin.name, case.commit, _kind(case), method, _scores(case, lines))


def _kept(
    case: ImpactCase, clone: Repository, folder: Path, means: Means, histories: Histories
) -> Iterator[tuple[str, Lines]]:
    """The lines that each method keeps, by path."""
    lay_out(folder, clone, case.parent, case.files(clone))
    sources = Sources((Folder(folder),))
    yield "Winnow", winnow(sources, means, histories)
    count = means.assistant.keys.wait_for(histories.cancellation).drafter.count
    subject = Subject(sources, read_workspace(sources, means.store, histories.cancellation), means.store, count)
    yield "BM25", bm25(subject, case, means.tokens)


def winnow(sources: Sources, means: Means, histories: Histories) -> Lines:
    """What `winnow ask --changes` shows the target."""
    question = Question(ASKED, changes="working")
    selection = means.assistant.select(sources, question, means.budget, cancellation=histories.cancellation)
    return _lines((span.path, span.start_line, span.end_line) for span in selection.spans)


def bm25(subject: Subject, case: ImpactCase, budget: int) -> Lines:
    """The changed unit, then the units that have most in common with it, by words."""
    workspace = subject.workspace
    cursor = Cursor(case.path, case.start_line, case.end_line)
    code = workspace.files[workspace.file_number(case.path)].text_of_lines(case.start_line, case.end_line)
    ranking = by_units(subject, Question(ASKED, cursor), workspace.lexical.score(f"{ASKED}\n{code}"))
    pieces = ranking.keep(budget)
    return _lines((workspace.units[one.unit][0].path, one.start_line, one.end_line) for one in pieces)


def share_kept(golds: Iterable[Gold], kept: Lines) -> float:
    """The share of golds of which every line is kept."""
    wanted = list(golds)
    whole = [kept.get(one.path, set()).issuperset(range(one.start_line, one.end_line + 1)) for one in wanted]
    return sum(whole) / len(wanted)


def _lines(places: Iterable[tuple[str, int, int]]) -> Lines:
    kept: dict[str, set[int]] = {}
    for path, start, end in places:
        kept.setdefault(path, set()).update(range(start, end + 1))
    return kept


def _scores(case: ImpactCase, kept: Lines) -> dict[str, float]:
    parts = {"callers and tests": case.golds, "callers": case.callers, "tests": case.tests}
    return {name: share_kept(golds, kept) for name, golds in parts.items() if golds}


def _kind(case: ImpactCase) -> str:
    return " and ".join(name for name, golds in (("callers", case.callers), ("tests", case.tests)) if golds)
