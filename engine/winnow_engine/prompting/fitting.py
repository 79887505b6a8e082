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
)
from winnow_engine.prompting.messages import Message, PromptReader
from winnow_engine.question import Question
from winnow_engine.selection.auto_budget import is_small, prefill_limit, useful_tokens
from winnow_engine.selection.overview import asks_for_overview, asks_for_tests, starts_somewhere, units_running_tests
from winnow_engine.selection.overview_words import topics_of
from winnow_engine.selection.ranking import Ranked, Selection

_EARLIER_TOKENS = 1500  # of the turns before a question
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

    def wanted(self, ranked: Ranked) -> int:
        """Tokens of code to keep, where `auto` keeps no more than the target reads in the user's patience."""
        in_time = prefill_limit(self.reader.prefill_tokens_per_s, self.budget.patience_s)
        return ranked.tokens(self.budget, min(in_time, useful_tokens(self.reader.parameters)))

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

    def latest_turns(self, question: Question) -> Question:
        """The question with as many of the turns before it as the budget allows."""
        return with_latest_turns(question, _EARLIER_TOKENS, self.reader.count)


def fit(ranked: Ranked, conversation: Conversation | None, limits: Limits) -> Fitted:
    """The last prompt continued where the question follows it, else a fresh one. BudgetError if it cannot fit.

    The reranker is asked for a fresh one alone: where a prompt goes on, half as much code again finds more, and sooner.
    """
    return _continued(ranked, conversation, limits) or _fresh(ranked.reranked, limits)


def _continued(ranked: Ranked, conversation: Conversation | None, limits: Limits) -> Fitted | None:
    """The last prompt with what this question adds; None if it does not follow that prompt, or outgrows a limit."""
    question = ranked.question
    if conversation is None or not conversation.goes_on(question, ranked.workspace):
        return None
    if limits.latest_turns(question) != question:
        return None
    selection = ranked.select(follow_up_budget(limits.wanted(ranked), at_cursor=question.cursor is not None))
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


def _fresh(ranked: Ranked, limits: Limits) -> Fitted:
    """A prompt of its own, with the budget lowered until the context holds it, and a notice that says so."""
    wanted = tokens = limits.wanted(ranked)
    question = limits.latest_turns(ranked.question)
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
