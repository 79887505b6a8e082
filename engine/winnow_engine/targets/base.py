"""What every target offers, whatever runs it: a request goes in, a generation comes out."""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar

from winnow_engine.core import Cancellation, Finish, ProgressSink, Sampling, TextSink, Thought, ignore
from winnow_engine.errors import ThoughtRoomError
from winnow_engine.prompting.messages import PromptReader
from winnow_engine.prompting.tools import NO_TOOLS, AnswerFormat, CallSink, Tools

P = TypeVar("P", bound=Sized)
T = TypeVar("T")
Given = ParamSpec("Given")


@dataclass(frozen=True, slots=True)
class Request(Generic[P]):
    """A prompt, not empty, and sinks, which run on the target's thread: quick, and without calls of the target.

    A local target's calls are part of its text (`chat/calls.py`), from the prefix on with which the prompt forces one.
    A required call, and all of `strict` tools, follow the tool's schema; the answer's text follows `format`.
    """

    prompt: P
    sampling: Sampling = field(default_factory=Sampling)
    on_text: TextSink = ignore
    cancellation: Cancellation = field(default_factory=Cancellation)
    progress: ProgressSink = ignore
    on_call: CallSink = ignore
    on_thought: TextSink = ignore
    tools: Tools = NO_TOOLS
    format: AnswerFormat | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """An answer, and its times in seconds of wall clock.

    Of `prompt_tokens`, `reused_tokens` were in memory, `restored_tokens` of them from disk; `prefill_s` is the rest's.
    `first_token_s` counts from the call, None if cancelled before; `decode_s` from the first token, which may be of
    `thought`. `draft` is its name, or the reason for none. `notices` are for the user.
    """

    text: str
    finish: Finish
    prompt_tokens: int
    reused_tokens: int
    prefill_s: float
    first_token_s: float | None
    decode_tokens: int
    decode_s: float
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    draft: str = "off"
    restored_tokens: int = 0
    thought: Thought | None = None
    notices: tuple[str, ...] = ()

    @property
    def decode_tokens_per_s(self) -> float:
        """Tokens per second after the first one, which belongs to the prefill; 0.0 if there was no second one."""
        return (self.decode_tokens - 1) / self.decode_s if self.decode_tokens > 1 else 0.0


class TargetOf(PromptReader[P], Protocol[P]):
    """A model that answers prompts `P`. Safe to call from any thread; a local one runs requests one by one."""

    @property
    def place(self) -> str:
        """Where the model lives: `resident` on the GPU, on the `cpu`, or on a `server`."""

    @property
    def host(self) -> str | None:
        """The host that prompts are sent to, or None if they stay on this machine."""

    def thinking_tokens(self, sampling: Sampling) -> int:
        """How many tokens a thought may take beside the answer; 0 if the model is not known to think."""

    def seconds_to_read(self, prompt: P) -> float | None:
        """How long the first token of an answer is expected to take, or None if nothing measured tells."""

    def unread(self, prompt: P) -> int | None:
        """How many of the prompt's tokens are neither in memory nor on disk, or None if nothing tells."""

    def generate(self, request: Request[P]) -> Generation:
        """Answer a request; cancelling ends it within 200 ms. BudgetError beyond `context_limit`, TargetError.

        ThoughtRoomError, before any text, if `thinking_tokens` are more than they were when the prompt was made.
        """

    def close(self) -> None:
        """Free the model, after a running request. Calling it again does nothing."""


Target: TypeAlias = TargetOf[Any]
"""A target with any kind of prompt."""


def fits_anew(answer: Callable[Given, T]) -> Callable[Given, T]:
    """Have a function that makes a prompt and generates from it do both again on a ThoughtRoomError."""

    @wraps(answer)
    def wrapped(*args: Given.args, **kwargs: Given.kwargs) -> T:
        try:
            return answer(*args, **kwargs)
        except ThoughtRoomError:
            return answer(*args, **kwargs)

    return wrapped
