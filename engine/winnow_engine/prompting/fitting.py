"""A selection and its prompt, made to fit the target's context."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from winnow_engine.core import Budget, Sampling
from winnow_engine.errors import BudgetError
from winnow_engine.prompting.conversation import LEAST_BUDGET, Conversation, follow_up_budget, is_too_long
from winnow_engine.prompting.layout import build_messages, continued_messages, with_latest_turns
from winnow_engine.prompting.messages import Message, PromptReader
from winnow_engine.selection.auto_budget import prefill_limit
from winnow_engine.selection.ranking import Ranked, Selection

Fitted = tuple[Selection, list[Message], Any]
"""What the target sees, as messages and as its own kind of prompt."""


def continued(
    conversation: Conversation | None, ranked: Ranked, budget: Budget, target: PromptReader[Any], sampling: Sampling
) -> Fitted | None:
    """The last prompt with what this question adds; None if it does not follow that prompt, or outgrows a limit."""
    question = ranked.question
    if conversation is None or not conversation.goes_on(question, ranked.workspace):
        return None
    if with_latest_turns(question, budget.earlier_tokens, target.count) != question:
        return None
    wanted = ranked.tokens(budget, prefill_limit(target.prefill_tokens_per_s))
    selection = ranked.select(follow_up_budget(wanted, at_cursor=question.cursor is not None))
    new = conversation.unseen(selection.spans)
    spans = conversation.with_spans(new)
    messages = continued_messages(conversation.messages, ranked.workspace, new, question)
    prompt = target.chat_prompt(messages)
    if is_too_long(spans, ranked.tokens(budget)) or len(prompt) + sampling.max_tokens > target.context_limit:
        return None
    stats = replace(selection.stats, kept_tokens=sum(span.tokens for span in spans))
    notices = selection.notices if selection.spans else ()  # there is code, if not for this question
    return replace(selection, spans=spans, stats=stats, notices=notices), messages, prompt


def fitted(ranked: Ranked, budget: Budget, target: PromptReader[Any], sampling: Sampling) -> Fitted:
    """The selection and its prompt, with the budget lowered, and that said, until the target's context holds both.

    BudgetError if it does not hold the question alone.
    """
    wanted = tokens = ranked.tokens(budget, prefill_limit(target.prefill_tokens_per_s))
    asked = with_latest_turns(ranked.question, budget.earlier_tokens, target.count)
    forgotten = len(ranked.question.earlier) - len(asked.earlier)
    room = target.context_limit - sampling.max_tokens
    while tokens >= min(wanted, LEAST_BUDGET):
        selection = ranked.select(tokens)
        messages = build_messages(selection.workspace, selection.spans, asked)
        prompt = target.chat_prompt(messages)
        if len(prompt) <= room:
            notices = [*selection.notices, *_left_unread(ranked.tokens(budget), wanted, target)]
            if tokens < wanted:
                limit = f"the target's context of {target.context_limit:,}"
                notices.append(f"budget lowered from {wanted:,} to {tokens:,} tokens to fit {limit}")
            if forgotten:
                turns = "turn was" if forgotten == 1 else "turns were"
                notices.append(f"{forgotten} earlier {turns} left out to fit {budget.earlier_tokens:,} tokens of them")
            return replace(selection, notices=tuple(notices)), messages, prompt
        if not tokens:
            break
        tokens = int(min(tokens, selection.stats.kept_tokens) * 0.95 * room / len(prompt)) if room > 0 else 0
    raise BudgetError(
        f"the question does not fit the target's context of {target.context_limit:,} tokens with an answer of "
        f"{sampling.max_tokens:,}: shorten the question or selection, or ask for a shorter answer"
    )


def _left_unread(useful: int, wanted: int, target: PromptReader[Any]) -> list[str]:
    """What to say where a slow target gets less than the scores ask for."""
    if useful == wanted:
        return []
    speed = f"the target reads about {target.prefill_tokens_per_s:,.0f} tokens a second here"
    return [f"kept up to {wanted:,} tokens of code instead of {useful:,}, because {speed}: set a budget to keep more"]
