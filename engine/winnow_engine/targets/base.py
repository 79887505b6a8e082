"""What every target offers, whatever runs it, and the nouns of a request."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from winnow_engine.core import Cancellation, Finish, ProgressSink, Sampling, TextSink, ignore_progress
from winnow_engine.prompting.messages import PromptReader
from winnow_engine.prompting.tools import CallSink, Tools

P = TypeVar("P", bound=Sized)


def ignore(_: object) -> None:
    """The sink of those who do not listen."""


@dataclass(frozen=True, slots=True)
class Request(Generic[P]):
    """What `generate` is asked: a prompt, which is not empty, and who is told what while it is answered.

    `on_text` gets each new piece of the answer. `on_call` gets the calls that a server reads from its model's answer,
    for a prompt with tools; a local target's calls are part of its text (`chat/calls.py`). The sinks run on the
    target's own thread: they must be quick and must not call the target.
    """

    prompt: P
    sampling: Sampling = field(default_factory=Sampling)
    on_text: TextSink = ignore
    cancellation: Cancellation = field(default_factory=Cancellation)
    progress: ProgressSink = ignore_progress
    on_call: CallSink = ignore


@dataclass(frozen=True, slots=True)
class Generation:
    """What one request gave, and where its time went (seconds of wall clock).

    `first_token_s` counts from the call of `generate` and is None when cancelled before; `prefill_s` is the
    evaluation of the `prompt_tokens - reused_tokens` others, and of the reused ones `restored_tokens` came from disk.
    `decode_s` starts at the first token. `rounds` are the evaluations after the first token, for which `drafted_tokens`
    were proposed and `accepted_tokens` of them right; `draft` tells by what, or why by nothing.
    """

    text: str
    finish: Finish
    prompt_tokens: int
    reused_tokens: int
    prefill_s: float
    first_token_s: float | None
    decode_tokens: int
    decode_s: float
    rounds: int = 0
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    draft: str = "off"
    restored_tokens: int = 0

    @property
    def decode_tokens_per_s(self) -> float:
        """Speed after the first token, which prefill pays for; 0.0 when there was no second one."""
        return (self.decode_tokens - 1) / self.decode_s if self.decode_tokens > 1 else 0.0


class TargetOf(PromptReader[P], Protocol[P]):
    """A model that answers. Safe to call from any thread; requests to a local one run one after the other.

    A prompt `P` is what `chat_prompt` gives and `generate` takes.
    """

    @property
    def place(self) -> str:
        """Where the model lives: `resident` on the GPU or there `on-demand`, on the `cpu`, or on a `server`."""

    @property
    def host(self) -> str | None:
        """Where prompts are sent to if they leave this machine; None if they do not."""

    def forced_prefix(self, tools: Tools) -> str:
        """The start of a call that a model which must call is given, "" where its server sees to that."""

    def generate(self, request: Request[P]) -> Generation:
        """Answer a request. Cancelling ends it within 200 ms with `finish="cancelled"` and the answer so far.

        Raises BudgetError if prompt and answer exceed `context_limit`, TargetError if the model fails.
        """

    def close(self) -> None:
        """Free the model. Waits for a running request; calling it again does nothing."""


Target: TypeAlias = TargetOf[Any]
"""Any target, whatever its prompts are."""
