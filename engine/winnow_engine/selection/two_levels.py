"""Two levels of search: cheap scores of every unit choose the candidates that are scored in full.

The first level is one vector a unit, words, names and paths. The second is every feature of the candidates, and of a
sample that stands for all others. Small workspaces are scored whole, and so is one of which much is kept
(docs/decisions/0014-two-levels.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Cancellation, Scores
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.profile import QuestionStates, TwoLevelProfile
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.workspace_keys import WorkspaceKeys
from winnow_engine.question import Question
from winnow_engine.selection.candidates import Candidates, best, highest, united
from winnow_engine.selection.scoring_input import Matches, Moments, ScoringInput, about, ask_drafter
from winnow_engine.selection.subquestions import subquestions_of
from winnow_engine.selection.unit_features import links_of, neighbours

LEAST_TOKENS = 1_000_000
"""The tokens of a workspace from which it is searched in two levels."""
MOST_BUDGET = 32_000
"""The tokens up to which candidates fill a budget."""


# The most units that each source of candidates gives; the last is of names, titles, paths and leaders, each.
_COARSE, _WORDS, _LINKED = 2048, 512, 256


def search(
    workspace: Workspace,
    keys: WorkspaceKeys,
    drafter: Drafter,
    question: Question,
    cancellation: Cancellation,
    budget_tokens: int | None = None,
) -> ScoringInput:
    """Have the drafter score the units of a small workspace, or the candidates of a large one, for a located question.

    `budget_tokens` are to be kept, None for a usual amount. Raises CancelledError.
    """
    large = keys.tokens >= LEAST_TOKENS and (budget_tokens or 0) <= MOST_BUDGET
    profile = drafter.two_levels if large and not keys.missing_tokens else None
    if profile is None:
        return ask_drafter(workspace, keys, drafter, question, cancellation)
    return TwoLevelSearch(workspace, keys, drafter, profile).ask(question, cancellation)


@dataclass(frozen=True, slots=True)
class TwoLevelSearch:
    """Questions about a workspace all of whose units have keys, to a drafter with such a profile."""

    workspace: Workspace
    keys: WorkspaceKeys
    drafter: Drafter
    profile: TwoLevelProfile

    def ask(self, located: Question, cancellation: Cancellation) -> ScoringInput:
        """The question with the drafter's scores of its candidates, and so its sub-questions. CancelledError."""
        question = about(located)
        texts = () if question.code else subquestions_of(question.text)
        states = self.drafter.states_of([question.search_text, *texts], question.code, cancellation)
        coarse = self.keys.scattered(
            (part, self.profile.score_coarsely(part.arrays, part.offsets, states)) for part in self.keys.parts
        )
        of_each = [{name: scores[n] for name, scores in coarse.items()} for n in range(len(states))]
        always = self._always(located)
        parts = [
            self._ask(Question(text), state, scores, always)
            for text, state, scores in zip(texts, states[1:], of_each[1:], strict=True)
        ]
        whole = self._ask(question, states[0], of_each[0], always)
        return replace(whole, subquestions=tuple(parts))

    def _ask(
        self, question: Question, states: QuestionStates, coarse: Mapping[str, Scores], always: NDArray[np.int64]
    ) -> ScoringInput:
        """One question: candidates of the first level, then those that the leaders among them lead to."""
        matches, table = Matches(self.workspace, question), self.workspace.file_table
        chosen = united([always, *self._sources(matches, coarse)])
        candidates = Candidates(chosen, table.unit_sample, int(self.workspace.unit_starts[-1]))
        scores = self.keys.scored(candidates.units, self.profile, states)
        first = ScoringInput(
            self.workspace, question, scores, (), candidates, _moments(coarse, candidates), known_matches=matches
        )
        links = links_of(first)
        found = neighbours(self.workspace, links, _LINKED)
        wider, more = candidates.with_more(found), np.setdiff1d(found, candidates.units)
        if len(more):
            order = np.argsort(np.concatenate([candidates.units, more]), kind="stable")
            added = self.keys.scored(more, self.profile, states)
            scores = {name: np.concatenate([values, added[name]])[order] for name, values in scores.items()}
        moments = _moments(coarse, wider)
        return replace(first, candidates=wider, drafter_scores=scores, moments=moments, links=links)

    def _always(self, located: Question) -> NDArray[np.int64]:
        """Units that may be kept whatever their score: at the cursor, in the question's scope, near a change."""
        workspace, found = self.workspace, located.scope.units if located.scope else np.empty(0, np.int64)
        if located.change:
            found = np.union1d(found, best(located.change.related, _LINKED))
        if located.cursor:
            found = np.union1d(found, workspace.units_of([workspace.file_number(located.cursor.path)]))
        return found

    def _sources(self, matches: Matches, coarse: Mapping[str, Scores]) -> Iterator[NDArray[np.int64]]:
        yield from (highest(scores, _COARSE) for scores in coarse.values())
        yield best(matches.words, _WORDS)
        files = dict.fromkeys([*matches.files, *best(matches.paths, _LINKED).tolist()])
        yield self.workspace.units_of(islice(files, _LINKED))[:_LINKED]
        named = matches.titles, matches.defined, matches.mentioned, matches.users, matches.defined_for_cursor
        yield from (best(scores, _LINKED) for scores in named)


def _moments(coarse: Mapping[str, Scores], candidates: Candidates) -> dict[str, Moments]:
    """The moments of scores that are known of all units; none where all are candidates."""
    if len(candidates.units) == candidates.total:
        return {}
    return {name: Moments(scores.mean(), scores.std()) for name, scores in coarse.items()}
