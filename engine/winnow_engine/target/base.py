"""What every target offers, whatever runs it, and the nouns of a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Cancellation, ProgressSink
from winnow_engine.target.tools import NO_TOOLS, CallSink, ToolCall, Tools

Prompt = NDArray[np.int32]
"""A local target's prompt: token ids of its vocabulary, shape (tokens,), special tokens included."""

P = TypeVar("P", bound=Sized)

TextSink = Callable[[str], None]
Role = Literal["system", "user", "assistant", "tool"]
Finish = Literal["eos", "stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation. `content` is plain text: special-token text in it stays text.

    The assistant's may have `calls`; a tool's is the result of the one that `call_id` names.
    """

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen and when to end. Temperature 0 is greedy and ignores `top_p` and `seed`.

    The answer ends before the first of the `stop` strings; none of it is shown.
    """

    temperature: float = 0.0
    top_p: float = 0.95
    seed: int = 0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature must be at least 0 and finite, not {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], not {self.top_p}")
        # llama.cpp reads 2**32 - 1 as "take a random seed".
        if not 0 <= self.seed < 2**32 - 1:
            raise ValueError(f"seed must be in [0, 2**32 - 2], not {self.seed}")
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if "" in self.stop:
            raise ValueError("a stop string must not be empty")


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


class TargetOf(Protocol[P]):
    """A model that answers. Safe to call from any thread; requests to a local one run one after the other.

    A prompt `P` is what `chat_prompt` gives and `generate` takes. All that others know of it is its length in tokens.
    """

    @property
    def context_limit(self) -> int:
        """Tokens of prompt and answer together that the model takes."""

    @property
    def place(self) -> str:
        """Where the model lives: `resident` on the GPU or there `on-demand`, on the `cpu`, or on a `server`."""

    @property
    def host(self) -> str | None:
        """Where prompts are sent to if they leave this machine; None if they do not."""

    @property
    def reading_tokens_per_s(self) -> float | None:
        """How fast it reads prompts, as seen or feared; None where nobody need wait long, as on servers."""

    def count(self, text: str) -> int:
        """How many tokens `text` takes as the content of a message."""

    def chat_prompt(self, messages: Sequence[Message], tools: Tools = NO_TOOLS) -> P:
        """The conversation as the model expects it, up to where its answer starts: `begun(tools)` is in it already.

        Raises UnsupportedModelError if the model's chat template does not take these messages, or tools.
        """

    def begun(self, tools: Tools) -> str:
        """The start of a call that a model which must call is given, "" where its server sees to that."""

    def generate(
        self,
        prompt: P,
        sampling: Sampling,
        cancellation: Cancellation,
        on_text: TextSink,
        progress: ProgressSink | None = None,
        on_call: CallSink | None = None,
    ) -> Generation:
        """Answer `prompt`, which is not empty, passing each new piece of text to `on_text`.

        A server may read its model's calls and send them to `on_call`, for a prompt with tools; a local target's are
        part of its text (`chat/calls.py`). The sinks run on the target's own thread: they must be quick and must not
        call the target. Cancelling ends the request within 200 ms with `finish="cancelled"` and the answer so far.
        Raises BudgetError if prompt and answer exceed `context_limit`, TargetError if the model fails.
        """

    def close(self) -> None:
        """Free the model. Waits for a running request; calling it again does nothing."""


Target: TypeAlias = TargetOf[Any]
"""Any target, whatever its prompts are."""
