"""A ranked workspace: a question with a score for each unit, and the spans that fit a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Budget, Scores, Span
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.workspace_keys import WorkspaceKeys
from winnow_engine.question import Question, ShownChange
from winnow_engine.selection.auto_budget import LEAST_TOKENS, MOST_TOKENS, UNSURE_LOG_ODDS, enough, tokens_needed
from winnow_engine.selection.budget import Focus, KeptUnit, choose, worth
from winnow_engine.selection.definitions import asks_further
from winnow_engine.selection.fusion import FusedScores
from winnow_engine.selection.literals import wants_tests
from winnow_engine.selection.order import DEFINITION, by_files, with_rules
from winnow_engine.selection.overview import asks_for_tests, fitting, overview_units
from winnow_engine.selection.shown_change import budget_for, longest_fitting, spans_shown, units_shown
from winnow_engine.selection.subquestions import subquestions_of
from winnow_engine.selection.workspace_units import WorkspaceUnits

_ANSWERED = 2.5  # log-odds that anything answers, from which a cursor may go: "Why does it return nil?" has less
_WORDS_OF_NAME = 3  # "Session.send", "the Session class"; a sentence of Chinese or Japanese is one word
_FIRST = np.float32(1000.0)  # log-odds by which the definition that is asked for is worth more than all other units


def without_unlikely_cursor(question: Question, workspace: Workspace, scores: FusedScores) -> Question:
    """The question, without a cursor whose code neither words nor scores mean, where other code is likely to answer."""
    cursor = question.cursor
    if cursor is None or cursor.start_line < cursor.end_line or question.is_about_cursor or question.changes:
        return question
    number = workspace.unit_at(cursor.path, cursor.start_line)
    meant = scores.total[number] > 0 or f"`{workspace.units[number][1].name}`" in question.text
    return question if meant or scores.log_odds < _ANSWERED else replace(question, cursor=None, code=None)


@dataclass(frozen=True, slots=True)
class SelectionStats:
    """Sizes of a selection in the drafter's tokens, the probability of an answer, and seconds by stage.

    Of `workspace_tokens`, `indexed_tokens` could be kept; where these are fewer, the former is an estimate.
    """

    workspace_tokens: int
    kept_tokens: int
    indexed_tokens: int
    budget_tokens: int = 0
    answer_probability: float = 1.0
    stages: Mapping[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """True if the index was complete."""
        return self.indexed_tokens == self.workspace_tokens


@dataclass(frozen=True, slots=True)
class Selection:
    """The code that the target would see for a question. `notices` are for the user; spans show `change`, too."""

    workspace: Workspace
    spans: tuple[Span, ...]
    stats: SelectionStats
    notices: tuple[str, ...] = ()
    change: ShownChange | None = None


@dataclass(frozen=True)
class Ranked:
    """A question about a workspace, with a score for each unit, and notices for the user.

    `unit_tokens`, int32 [U], are 0 for units that cannot be kept. `rerank` gives the scores with those of a reranker.
    """

    question: Question
    workspace: Workspace
    keys: WorkspaceKeys
    unit_tokens: NDArray[np.int32]
    scores: FusedScores
    drafter: Drafter
    notices: tuple[str, ...] = ()
    rerank: Callable[[], FusedScores] | None = None

    @property
    def reranked(self) -> Ranked:
        """The same with the scores of the reranker, where there is one. How much to keep does not change."""
        return self._reranked or self

    @cached_property
    def _reranked(self) -> Ranked | None:
        scores = self.rerank and with_rules(self.question, self.workspace, self.rerank())
        return replace(self, scores=scores, rerank=None) if scores else None

    @property
    def workspace_tokens(self) -> int:
        """The drafter's tokens of all units, of those without keys about."""
        return self.keys.tokens + self.keys.missing_tokens

    @property
    def worth(self) -> Scores:
        """Order of keeping units, definitions first if only they are asked for, float32 [U]; -inf for never."""
        total, units = self.scores.total, self.scores.units
        found = np.full_like(total, -np.inf)
        found[units] = worth(total[units], self.unit_tokens[units], self._subquestions)
        defining = self.scores.contributions.get(DEFINITION)
        if defining is not None and not asks_further(self.question.text):
            found[units] += _FIRST * (defining > 0)
        if self._overview_units and asks_for_tests(self.question):
            found[np.setdiff1d(units, self._overview_units)] = -np.inf
        return found

    @property
    def shown(self) -> FusedScores:
        """The scores by which units are shown; a budget is filled by `scores`."""
        about_code = self.question.change is not None or self.question.is_about_cursor
        return self.scores if about_code else by_files(self.workspace, self.scores)

    @cached_property
    def _subquestions(self) -> int:
        return len(subquestions_of(self.question.text))

    def tokens(self, budget: Budget, most: int = MOST_TOKENS) -> int:
        """The budget in tokens: what the user set, or with at most `most` what the answer seems to need.

        With `most_tokens` it is for an agent: what is `enough`, but for an overview.
        """
        wanted = budget.tokens(self.workspace_tokens)
        tokens = self._needed(most) if wanted is None else wanted
        if budget.most_tokens and wanted is None and tokens > LEAST_TOKENS and not self._overview_units:
            tokens = min(tokens, self._enough)
        return min(tokens, budget.most_tokens or tokens)

    @property
    def _enough(self) -> int:
        """What is `enough` for an agent: of a name alone, its definitions."""
        scores, tokens = self.scores, self.unit_tokens[self.scores.units]
        text, defining = self.question.text, scores.contributions.get(DEFINITION)
        alone = text.isascii() and len(text.split()) <= _WORDS_OF_NAME and not asks_further(text)
        if defining is not None and alone and not wants_tests(text, self.workspace):
            return max(LEAST_TOKENS, int(tokens[defining > 0].sum()))
        return enough(scores.total[scores.units], tokens, scores.weights)

    def _needed(self, most: int) -> int:
        """The tokens at the cursor, and those that the answer seems to need besides (`tokens_needed`), at most `most`.

        For a slow target `most` bounds both, but leaves 400 tokens for the latter. A change counts likewise.
        """
        focus, tokens = self._focus(most), self.unit_tokens.copy()
        at_cursor = [*focus.units, *focus.companions] if focus else []
        tokens_at_cursor, tokens[at_cursor] = int(tokens[at_cursor].sum()), 0
        shown = self._shown(most)
        if most < MOST_TOKENS:
            most = max(most - tokens_at_cursor, LEAST_TOKENS)
        if shown is not None:
            tokens[units_shown(shown, self.workspace)] = 0
            most = max(most - shown.tokens, LEAST_TOKENS)
        scores, units, given = self.scores, self.scores.units, focus is not None or shown is not None
        sizing = scores.total if scores.sizing is None else scores.sizing
        absent = partial(self.workspace.symbols.lacks_named, self.question.text)
        needed = tokens_needed(
            sizing[units], tokens[units], self._subquestions, most, scores.weights, at_cursor=given, absent=absent
        )
        return budget_for(shown, tokens_at_cursor + needed) if shown else tokens_at_cursor + needed

    def select(self, budget_tokens: int) -> Selection:
        """The selection for a budget: a change, the code at the cursor, an overview, then units by their worth."""
        shown = self._shown(budget_tokens)
        spans = self._units.spans(self.pieces(budget_tokens), self.shown)
        if shown is not None:
            best = max((span.score for span in spans), default=round(self.scores.log_odds, 4))
            changed = spans_shown(shown, self.workspace, spans, self.drafter.count, best)
            spans = tuple(sorted([*spans, *changed], key=lambda span: (span.path, span.start_line)))
        kept, probability = sum(span.tokens for span in spans), self._answer_probability
        stats = SelectionStats(self.workspace_tokens, kept, self.keys.tokens, budget_tokens, round(probability, 3))
        notices = tuple(self._notices(spans, shown, budget_tokens))
        return Selection(self.workspace, spans, stats, notices, shown)

    def pieces(self, budget_tokens: int) -> list[KeptUnit]:
        """The units to keep within a budget, besides a change, in the order of the workspace."""
        units, left, shown = self._units, budget_tokens, self._shown(budget_tokens)
        if shown is not None:
            left, units.tokens = max(left - shown.tokens, 0), units.tokens.copy()
            units.tokens[units_shown(shown, self.workspace)] = 0
        return choose(units, self.worth, left, self._focus(left), self.question.places)

    def _notices(self, spans: Sequence[Span], shown: ShownChange | None, budget_tokens: int) -> Iterator[str]:
        if self.drafter.notice:
            yield self.drafter.notice
        yield from self.notices
        if self.question.scope is not None and not self.question.scope.complete:
            yield "the pattern matches so much that only a part was searched: narrow it, or name paths"
        if self.keys.missing_tokens:
            yield (
                f"the index is not complete: this rests on {self.keys.tokens:,} of about {self.workspace_tokens:,} "
                "tokens of code, chosen by names, words and paths; ask again once it is"
            )
        if shown is not None and not shown.complete:
            yield (
                f"the change is too long to be shown whole within {budget_tokens:,} tokens: ask about fewer files with "
                "a range, or raise the --budget"
            )
        unsure = not spans or self.scores.log_odds < UNSURE_LOG_ODDS
        if shown is None and unsure and not self._overview(budget_tokens):
            kept = "only the nearest code was kept" if spans else "no code was kept"
            yield f"nothing in the workspace seems to answer this ({self._answer_probability:.0%} likely): {kept}"

    @property
    def _answer_probability(self) -> float:
        return float(1 / (1 + np.exp(-self.scores.log_odds)))

    def _shown(self, budget_tokens: int) -> ShownChange | None:
        change = self.question.change
        return longest_fitting(change, budget_tokens) if change else None

    @property
    def _units(self) -> WorkspaceUnits:
        return WorkspaceUnits(self.workspace, self.unit_tokens, self.drafter.count, self.question)

    def _focus(self, budget_tokens: int) -> Focus | None:
        """The units that are kept by rule."""
        question, overview = self.question, self._overview(budget_tokens)
        if question.cursor and question.scope is None:
            focus = self._units.focus(question.cursor)
            return replace(focus, companions=(*focus.companions, *overview))
        return Focus((), (1, 1), tuple(overview)) if overview else None

    def _overview(self, budget_tokens: int) -> list[int]:
        return fitting(self._overview_units, self.unit_tokens, budget_tokens)

    @cached_property
    def _overview_units(self) -> list[int]:
        return overview_units(self.workspace, self.question)
