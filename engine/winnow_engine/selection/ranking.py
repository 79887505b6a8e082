"""A ranked workspace: a question with a score for each unit, and the spans that fit a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Budget, Question, Scores, Span
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.auto_budget import LEAST_TOKENS, MOST_TOKENS, tokens_needed
from winnow_engine.selection.budget import Focus, choose, density
from winnow_engine.selection.fusion import FusedScores
from winnow_engine.selection.key_cache import WorkspaceKeys
from winnow_engine.selection.subquestions import subquestions_of
from winnow_engine.selection.workspace_units import WorkspaceUnits


@dataclass(frozen=True, slots=True)
class SelectionStats:
    """What was kept of a workspace, in the drafter's tokens of code.

    Of `workspace_tokens`, `indexed_tokens` could be kept; where these are fewer, the former is an estimate.
    `budget_tokens` is how much could be kept, `answer_probability` how likely it is that anything in the workspace
    answers. `stages` are the seconds of wall clock that each stage of the selection took, in order.
    """

    workspace_tokens: int
    kept_tokens: int
    indexed_tokens: int
    budget_tokens: int = 0
    answer_probability: float = 1.0
    stages: Mapping[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the index was complete."""
        return self.indexed_tokens == self.workspace_tokens


@dataclass(frozen=True, slots=True)
class Selection:
    """What the target would see for a question, and the workspace it was taken from. Show `notices` to the user."""

    workspace: Workspace
    spans: tuple[Span, ...]
    stats: SelectionStats
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A question about a workspace, with a score for each unit.

    `unit_tokens`, int32 [U], are the tokens of the units that can be kept, 0 for the others. `problems` are what the
    user should know of the index.
    """

    question: Question
    workspace: Workspace
    keys: WorkspaceKeys
    unit_tokens: NDArray[np.int32]
    scores: FusedScores
    drafter: Drafter
    problems: tuple[str, ...] = ()

    @property
    def workspace_tokens(self) -> int:
        """The drafter's tokens of all units, of those without keys about."""
        return self.keys.tokens + self.keys.missing_tokens

    @property
    def worth(self) -> Scores:
        """The logarithm of each unit's chance per token, float32 [U]; -inf for units that were not scored."""
        total, units = self.scores.total, self.scores.units
        worth = np.full_like(total, -np.inf)
        worth[units] = density(total[units], self.unit_tokens[units])
        return worth

    def tokens(self, budget: Budget, most: int = MOST_TOKENS) -> int:
        """The budget in tokens: what the user set, or the code at the cursor and what the answer seems to need besides.

        `most` bounds what the answer needs (`tokens_needed`). For a slow target, where it is lower than what `auto`
        keeps at most, it bounds both, but leaves 400 tokens for what the answer needs.
        """
        wanted = budget.tokens(self.workspace_tokens)
        if wanted is not None:
            return wanted
        focus, tokens = self._focus, self.unit_tokens.copy()
        at_cursor = [*focus.units, *focus.companions] if focus else []
        tokens_at_cursor, tokens[at_cursor] = int(tokens[at_cursor].sum()), 0
        if most < MOST_TOKENS:
            most = max(most - tokens_at_cursor, LEAST_TOKENS)
        subquestions = len(subquestions_of(self.question.text))
        scores, units = self.scores, self.scores.units
        needed = tokens_needed(
            scores.total[units], tokens[units], subquestions, most, scores.weights, at_cursor=focus is not None
        )
        return tokens_at_cursor + needed

    def select(self, budget_tokens: int) -> Selection:
        """The spans that fit a budget: the code at the cursor, then units by their chance per token."""
        pieces = choose(self._units, self.worth, budget_tokens, self._focus)
        spans = self._units.spans(pieces, self.scores)
        probability = float(1 / (1 + np.exp(-self.scores.log_odds)))
        kept = sum(span.tokens for span in spans)
        stats = SelectionStats(self.workspace_tokens, kept, self.keys.tokens, budget_tokens, round(probability, 3))
        notices = [*([self.drafter.notice] if self.drafter.notice else []), *self.problems]
        if self.keys.missing_tokens:
            notices.append(
                f"the index is not complete: this rests on {self.keys.tokens:,} of about {self.workspace_tokens:,} "
                "tokens of code, chosen by names, words and paths; ask again once it is"
            )
        if not spans:
            notices.append(
                f"nothing in the workspace seems to answer this ({probability:.0%} likely): no code was kept"
            )
        return Selection(self.workspace, spans, stats, tuple(notices))

    @property
    def _units(self) -> WorkspaceUnits:
        return WorkspaceUnits(self.workspace, self.unit_tokens, self.drafter.count)

    @property
    def _focus(self) -> Focus | None:
        question = self.question
        return self._units.focus(question.cursor) if question.cursor and not question.paths else None
