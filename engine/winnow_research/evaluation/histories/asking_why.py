"""*why*: is the commit that shaped some lines among those that `winnow why` shows, and that others find?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from winnow_engine.core import Folder
from winnow_engine.git.repository import Repository
from winnow_engine.history.blame_chain import shaping_commits
from winnow_research.evaluation.histories.finders import Finders
from winnow_research.evaluation.histories.run import CommitQuestion, Histories
from winnow_research.evaluation.histories.why import WhyCase, why_cases
from winnow_research.evaluation.scores import Result

_MOST = 6  # commits that `winnow why` shows
_CUTS = {"first": 1, "any of 6": _MOST}


def answered_why(histories: Histories) -> Iterator[Result]:
    """The results of each question and method."""
    for pin in histories.clones:
        with histories.past(pin) as repository:
            finders = Finders(repository)
            for case in why_cases(repository, histories.questions, histories.seed):
                histories.cancellation.check()
                histories.report(f"why {pin.name} {case.place}")
                asked = CommitQuestion("why", case.since, case.commit, _CUTS)
                for method, found in _found(histories, case, repository, finders):
                    yield from asked.results(method, found)


def _found(
    histories: Histories, case: WhyCase, repository: Repository, finders: Finders
) -> Iterator[tuple[str, Sequence[str]]]:
    """The commits that each method finds, in the order in which it shows them."""
    data = finders.content(case.path)
    lines = data.split(b"\n")[case.start_line - 1 : case.end_line]
    text = b"\n".join(lines).decode("utf-8", "replace")
    numbers = [n for n, line in enumerate(lines, case.start_line) if line.strip()]
    yield "Winnow", winnow(repository, case, data)
    yield "git blame", finders.blame(case.path, numbers)
    longest = max((line.strip() for line in text.split("\n")), key=len)
    dug = histories.tried("git log -S", lambda: finders.pickaxe(longest, _MOST))
    if dug is not None:
        yield "git log -S", dug
    yield "BM25 of messages", finders.bm25(text, _MOST)


def winnow(repository: Repository, case: WhyCase, data: bytes) -> list[str]:
    """The commits that `winnow why` shows for some lines, in its order."""
    folder = Folder(repository.git.directory)
    shaping, _ = shaping_commits(repository, folder, case.path, data, range(case.start_line, case.end_line + 1))
    return [one.commit.id for one in shaping]
