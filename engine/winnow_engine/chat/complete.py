"""A conversation in, the target's next turn out; what is too long is compressed on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.chat.compress import Compressor
from winnow_engine.chat.passages import compressible
from winnow_engine.core import Cancellation
from winnow_engine.errors import BudgetError
from winnow_engine.keys import KeyCache
from winnow_engine.loading import Loading
from winnow_engine.target.base import Generation, Message, Sampling, Target, TextSink

DEFAULT_BUDGET = 6000
"""Tokens of a conversation that stay, beside what is protected."""

DEFAULT_ANSWER = 1024
"""Tokens an answer may have where nobody says; a quarter of the context where that is less."""

_LEAST_BUDGET = 64
_MARGIN = 0.95


@dataclass(frozen=True, slots=True)
class Completion:
    """The target's turn. `original_tokens` is the prompt's length as it came, in the target's tokens."""

    generation: Generation
    original_tokens: int


def complete(
    assistant: Assistant,
    messages: Sequence[Message],
    budget: int,
    sampling: Sampling,
    limited: bool,
    on_text: TextSink,
    cancellation: Cancellation,
) -> Completion:
    """Answer a conversation, which passes unchanged if it fits the context and at most `budget` tokens may be cut.

    `limited` says whether `sampling.max_tokens` was asked for. System messages and the user's last one are never cut.
    Raises BudgetError if these alone do not fit, UnsupportedModelError if the target does not take such
    conversations, CancelledError, and what the models raise.
    """
    assert assistant.target is not None
    target = assistant.target.wait_for(cancellation)
    if not limited:
        sampling = replace(sampling, max_tokens=max(1, min(DEFAULT_ANSWER, target.context_limit // 4)))
    original = target.chat_prompt(messages)
    room = target.context_limit - sampling.max_tokens
    prompt = original
    if len(original) > room or (len(original) > budget and _cuttable(messages, target) > budget):
        prompt = _compressed(messages, min(budget, room), room, target, assistant.keys, cancellation)
    generation = target.generate(prompt, sampling, cancellation, on_text)
    cancellation.check()
    return Completion(generation, len(original))


def _cuttable(messages: Sequence[Message], target: Target) -> int:
    """The target's tokens of what may be cut."""
    return target.count("\n".join(messages[number].content for number in compressible(messages)))


def _compressed(
    messages: Sequence[Message],
    budget: int,
    room: int,
    target: Target,
    keys: Loading[KeyCache],
    cancellation: Cancellation,
) -> Any:
    """A prompt of at most `room` tokens, with as much as it holds of what may be cut, within the budget."""
    compressor = Compressor(messages, keys.wait_for(cancellation), cancellation) if compressible(messages) else None
    tokens = min(budget, compressor.tokens) if compressor else 0
    while True:
        prompt = target.chat_prompt(compressor.within(tokens) if compressor else messages)
        if len(prompt) <= room:
            return prompt
        if not tokens:
            raise BudgetError(
                f"the system's messages and the user's last one have {len(prompt):,} tokens, which do not fit the "
                f"target's context of {target.context_limit:,} beside the answer: shorten them or the answer"
            )
        tokens = int(tokens * _MARGIN * room / len(prompt)) if room > 0 else 0
        tokens = tokens if tokens >= _LEAST_BUDGET else 0
