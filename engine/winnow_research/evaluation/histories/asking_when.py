"""*when*: is the commit that a question is about among the first that Winnow finds, and that others find?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from winnow_engine.git.repository import Repository
from winnow_engine.history.finding import rank_commits
from winnow_research.evaluation.histories.finders import Finders
from winnow_research.evaluation.histories.run import CommitQuestion, Histories
from winnow_research.evaluation.histories.when import NAME, WhenCase, when_cases
from winnow_research.evaluation.scores import Result

_CUTS = {"first": 1, "first 3": 3, "first 5": 5}
_MOST = max(_CUTS.values())


def answered_when(histories: Histories) -> Iterator[Result]:
    """The results of each question and method."""
    for pin in histories.clones:
        with histories.past(pin) as repository:
            finders = Finders(repository)
            for case in when_cases(finders, histories.questions, histories.seed):
                histories.cancellation.check()
                histories.report(f"when {pin.name} {case.question}")
                asked = CommitQuestion("when", case.kind, case.commit, _CUTS)
                for method, found in _found(histories, case, repository, finders):
                    yield from asked.results(method, found)


def _found(
    histories: Histories, case: WhenCase, repository: Repository, finders: Finders
) -> Iterator[tuple[str, Sequence[str]]]:
    """The commits that each method finds, best first."""
    yield "Winnow", [one.commit.id for one in rank_commits(repository, case.question, _MOST)[0] if one.score]
    yield "BM25 of messages", finders.bm25(" ".join(case.words), _MOST)
    yield "git log --grep", finders.grep(case.words, _MOST)
    if case.kind == NAME:
        dug = histories.tried("git log -S", lambda: finders.pickaxe(case.words[0], _MOST))
        if dug is not None:
            yield "git log -S", dug
