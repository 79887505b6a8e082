"""A selection and its prompt, fitted to the target's context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from winnow_engine.core import Budget, Thinking, counted
from winnow_engine.errors import BudgetError
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.conversation import LEAST_BUDGET, Conversation, follow_up_budget, is_too_long
from winnow_engine.prompting.layout import (
    OVERVIEW_CONTRACT,
    SMALL_CONTRACT,
    TESTS_CONTRACT,
    UNTESTED_CONTRACT,
    asks,
    build_messages,
    continued_messages,
    with_latest_turns,
    without_middle,
)
from winnow_engine.prompting.messages import Message, PromptReader
from winnow_engine.question import Question
from winnow_engine.selection.auto_budget import LEAST_TOKENS, is_small, readable_tokens, useful_tokens
from winnow_engine.selection.overview import asks_for_overview, asks_for_tests, starts_somewhere, units_running_tests
from winnow_engine.selection.overview_words import topics_of
from winnow_engine.selection.ranking import Ranked, Selection

_EARLIER_TOKENS = 1500  # of the turns before a question
_LONGEST_TURN = _EARLIER_TOKENS // 2  # of the question of one of them
_FEWEST_MESSAGES = 2  # the system's and the question
_MARGIN = 0.95  # of what should fit, after a prompt that did not


@dataclass(frozen=True, slots=True)
class Fitted:
    """The spans kept, the messages that show them, and the target's own form of these."""

    selection: Selection
    messages: list[Message]
    prompt: Any

    @property
    def has_code(self) -> bool:
        """True if the messages show code or a change, or go on from some that may."""
        return bool(self.selection.spans or self.selection.change or len(self.messages) > _FEWEST_MESSAGES)

    def answered(self, question: Question, answer: str) -> Conversation:
        """The conversation once the target has answered."""
        return Conversation.of(question, answer, self.messages, self.selection.workspace, self.selection.spans)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a prompt: the user's budget, and the context of `reader` less the longest answer and thought."""

    budget: Budget
    reader: PromptReader[Any]
    answer_tokens: int
    thinking: Thinking = "auto"

    @property
    def room(self) -> int:
        """Tokens of the target that the prompt may have."""
        return self.reader.context_limit - self.answer_tokens

    @property
    def _in_time(self) -> int:
        return readable_tokens(self.reader.prefill_tokens_per_s, self.budget.patience_s)

    def wanted(self, ranked: Ranked, text: str) -> int:
        """Tokens of code to keep, where `auto` keeps no more than the target reads in time, beside a long text."""
        in_time, useful = self._in_time, useful_tokens(self.reader.parameters)
        if self.budget.tokens(0) is None and _bytes(text) > max(LEAST_TOKENS, in_time - useful):
            in_time = max(in_time - self.reader.count(text), LEAST_TOKENS)
        return ranked.tokens(self.budget, min(in_time, useful))

    def useful(self, ranked: Ranked) -> int:
        """Tokens of code that `auto` would keep with time to spare."""
        return ranked.tokens(self.budget, useful_tokens(self.reader.parameters))

    def contract(self, question: Question, workspace: Workspace) -> str:
        """How the target is to answer, for one that is too small to see it in the system's message."""
        if not is_small(self.reader.parameters) or not asks(question.text):
            return ""
        if asks_for_tests(question):
            return TESTS_CONTRACT if units_running_tests(workspace) else UNTESTED_CONTRACT
        in_code = "start" in topics_of(question.text) and starts_somewhere(workspace)
        return SMALL_CONTRACT if in_code or not asks_for_overview(question) else OVERVIEW_CONTRACT

    def prompt(self, messages: Sequence[Message]) -> Any:
        """The messages as the reader's own prompt."""
        return self.reader.chat_prompt(messages, thinking=self.thinking)

    def shown(self, question: Question) -> tuple[Question, tuple[str, ...]]:
        """The question as the target reads it, after as many turns as the budget allows, and notices of what it lacks.

        With `auto` a text loses its middle if the target does not read it in time, or in its context.
        """
        turns = [replace(turn, question=self._shortened(turn.question, _LONGEST_TURN)[0]) for turn in question.earlier]
        shown = with_latest_turns(replace(question, earlier=tuple(turns)), _EARLIER_TOKENS, self.reader.count)
        if self.budget.tokens(0) is not None:
            return shown, ()
        in_time = max(self._in_time - LEAST_TOKENS, 2 * LEAST_TOKENS)
        beside = 2 * LEAST_TOKENS + (_EARLIER_TOKENS if shown.earlier else 0)
        fitting = max(self.room - beside, self.room // 2)
        text, left_out = self._shortened(question.text, min(in_time, fitting))
        if not left_out:
            return shown, ()
        reads = f"the target's context of {self.reader.context_limit:,} has no room for them: pass on a part"
        if in_time <= fitting:
            within = f" within {self.budget.patience_s:g} s" if in_time < self._in_time else ""
            reads = f"the target reads {in_time:,} tokens of it{within}: pass on a part, "
            reads += "or have it read more with `winnow.patience` or a number for `winnow.budget`"
        return replace(shown, text=text), (f"{left_out} left out in the middle of the question; {reads}",)

    def _shortened(self, text: str, most: int) -> tuple[str, str]:
        """The text in at most so many tokens, and what its middle has lost, in words."""
        shown, left_out, characters = text, "", len(text)
        while characters > 0 and _bytes(shown) > most and (tokens := self.reader.count(shown)) > most:
            characters = int(characters * _MARGIN * most / tokens)
            shown, left_out = without_middle(text, max(characters, 0))
        return shown, left_out


def _bytes(text: str) -> int:
    """The bytes of a text: it has at most as many tokens."""
    return len(text.encode(errors="replace"))


def fit(ranked: Ranked, conversation: Conversation | None, limits: Limits) -> Fitted:
    """The last prompt continued where the question follows it, else a fresh one. BudgetError if it cannot fit.

    The reranker is asked for a fresh one alone: where a prompt goes on, half as much code again finds more, and sooner.
    """
    question, shortened = limits.shown(ranked.question)
    found = _continued(ranked, question, conversation, limits) or _fresh(ranked.reranked, question, limits)
    return replace(found, selection=replace(found.selection, notices=(*found.selection.notices, *shortened)))


def _continued(ranked: Ranked, question: Question, conversation: Conversation | None, limits: Limits) -> Fitted | None:
    """The last prompt with what this question adds; None if it does not follow that prompt, or outgrows a limit."""
    if conversation is None or not conversation.goes_on(ranked.question, ranked.workspace):
        return None
    if len(question.earlier) < len(ranked.question.earlier):
        return None
    wanted = limits.wanted(ranked, question.text)
    selection = ranked.select(follow_up_budget(wanted, at_cursor=question.cursor is not None))
    new = conversation.unseen(selection.spans)
    spans = conversation.with_spans(new)
    if is_too_long(spans, ranked.tokens(limits.budget)):
        return None
    messages = continued_messages(conversation.messages, ranked.workspace, new, question, selection.change)
    prompt = limits.prompt(messages)
    if len(prompt) > limits.room:
        return None
    stats = replace(selection.stats, kept_tokens=sum(span.tokens for span in spans))
    notices = selection.notices if selection.spans else ()  # there is code, if not for this question
    return Fitted(replace(selection, spans=spans, stats=stats, notices=notices), messages, prompt)


def _fresh(ranked: Ranked, question: Question, limits: Limits) -> Fitted:
    """A prompt of its own, with the budget lowered until the context holds it, and a notice that says so."""
    wanted = tokens = limits.wanted(ranked, question.text)
    while tokens >= min(wanted, LEAST_BUDGET):
        selection = ranked.select(tokens)
        contract = limits.contract(question, selection.workspace) if selection.change is None else ""
        messages = build_messages(selection.workspace, selection.spans, question, selection.change, contract=contract)
        prompt = limits.prompt(messages)
        if len(prompt) <= limits.room:
            left_out = len(ranked.question.earlier) - len(question.earlier)
            notices = (*selection.notices, *_notices(ranked, limits, selection, wanted, left_out))
            return Fitted(replace(selection, notices=notices), messages, prompt)
        if not tokens:
            break
        share = limits.room / len(prompt)
        tokens = int(min(tokens, selection.stats.kept_tokens) * _MARGIN * share) if limits.room > 0 else 0
    raise BudgetError(
        f"the question does not fit the target's context of {limits.reader.context_limit:,} tokens with an answer of "
        f"{limits.answer_tokens:,}: shorten the question or selection, or ask for a shorter answer"
    )


def _notices(ranked: Ranked, limits: Limits, selection: Selection, wanted: int, left_out: int) -> Iterator[str]:
    """Notices of code and turns that were left out, and why."""
    useful, tokens = limits.useful(ranked), selection.stats.budget_tokens
    if useful != wanted and ranked.select(useful).spans != selection.spans:
        seconds = f"{limits.budget.patience_s:g} s (`winnow.patience`)"
        yield f"kept up to {wanted:,} tokens of code instead of {useful:,}, which the target reads within {seconds}"
    if tokens < wanted:
        limit = f"the target's context of {limits.reader.context_limit:,}"
        yield f"budget lowered from {wanted:,} to {tokens:,} tokens to fit {limit}"
    if left_out:
        yield f"{counted(left_out, 'earlier turn')} left out to fit {_EARLIER_TOKENS:,} tokens of them"
