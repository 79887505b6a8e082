"""Completes a conversation with the target's next turn, after compressing what is too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.chat.calls import CallReader
from winnow_engine.chat.fitting import Compression, Fitting, SentConversations
from winnow_engine.chat.turn import TurnPieceSink, TurnRecorder
from winnow_engine.core import Cancellation, Sampling
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, AnswerFormat, ToolCall, Tools
from winnow_engine.targets.base import Generation, Request, Target, fits_anew

DEFAULT_BUDGET = 6000
"""How many tokens of a conversation stay, besides what is never cut."""

DEFAULT_ANSWER = 1024
"""The most tokens of an answer if the request does not say, or a quarter of the context if that is less."""


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A conversation to complete. `limited`: `sampling.max_tokens`, an upper bound, was asked for."""

    messages: Sequence[Message]
    sampling: Sampling
    limited: bool
    tools: Tools = NO_TOOLS
    format: AnswerFormat | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """The target's turn, `calls` apart from its text; `original_tokens` is the prompt's length as it came."""

    generation: Generation
    original_tokens: int
    calls: tuple[ToolCall, ...] = ()
    compression: Compression = "none"


@fits_anew
def complete(
    assistant: Assistant,
    asked: CompletionRequest,
    budget: int,
    sent: SentConversations,
    on_piece: TurnPieceSink,
    cancellation: Cancellation,
) -> Completion:
    """Have the target continue a conversation, compressed by `fitting`. PromptTooLongError, UnsupportedModelError."""
    assert assistant.target is not None
    target = assistant.target.wait_for(cancellation)
    sampling = asked.sampling
    context, short = target.context_limit, min(DEFAULT_ANSWER, target.context_limit // 4)
    most = max(1, sampling.max_tokens if asked.limited else short)  # tokens of the answer, which the room may lessen
    original = target.chat_prompt(asked.messages, asked.tools, sampling.thinking)
    context -= target.thinking_tokens(sampling)
    room, limit = context - min(most, context // 4), context - max(1, min(most, short))
    fitting = Fitting(target, assistant.keys, budget, room, limit, cancellation, sampling.thinking)
    prompt, compression = fitting.fit(asked.messages, asked.tools, original, sent)
    stop = () if asked.tools.required else sampling.stop  # half a call is none
    sampling = replace(sampling, max_tokens=min(most, context - len(prompt)), stop=stop)
    turn = TurnRecorder(on_piece)
    generation = _generated(target, prompt, replace(asked, sampling=sampling), turn, cancellation)
    cancellation.check()
    return Completion(replace(generation, text=turn.text), len(original), turn.calls, compression)


def prompt_tokens(assistant: Assistant, asked: CompletionRequest, cancellation: Cancellation) -> int:
    """The target's tokens of a conversation as it came. Raises as `complete` does."""
    assert assistant.target is not None
    return len(assistant.target.wait_for(cancellation).chat_prompt(asked.messages, asked.tools))


def _generated(
    target: Target, prompt: Any, asked: CompletionRequest, turn: TurnRecorder, cancellation: Cancellation
) -> Generation:
    """Have the target take its turn. Calls that the target, or a server, leaves in the text are read from it."""
    request = Request(
        prompt, asked.sampling, turn.say, cancellation, on_thought=turn.think, format=asked.format, tools=asked.tools
    )
    if not asked.tools:
        return target.generate(request)
    reader = CallReader(asked.tools, turn.say, turn.call)
    generation = target.generate(replace(request, on_text=reader.feed, on_call=turn.go_on))
    reader.end(cut=generation.finish == "length")
    turn.end(cut=generation.finish == "length")
    return generation
