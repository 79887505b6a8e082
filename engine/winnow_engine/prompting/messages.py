"""The turns of a conversation as a target reads them."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from winnow_engine.core import Thinking
from winnow_engine.prompting.tools import NO_TOOLS, ToolCall, Tools

P_co = TypeVar("P_co", bound=Sized, covariant=True)
Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation. `content` is plain text: special-token text in it stays text.

    The assistant's may have `calls`; a tool's is the result of the one that `call_id` names.
    """

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


class PromptReader(Protocol[P_co]):
    """A model's context, prefill throughput and chat format. Callers know a prompt only by its length in tokens."""

    @property
    def context_limit(self) -> int:
        """Tokens that prompt and answer may have together."""

    @property
    def parameters(self) -> int | None:
        """The model's number of weights; None on servers."""

    @property
    def prefill_tokens_per_s(self) -> float | None:
        """Prefill throughput in tokens/s, measured or assumed; None where nobody waits long, as on servers."""

    def count(self, text: str) -> int:
        """Tokens of `text` as the content of a message."""

    def chat_prompt(self, messages: Sequence[Message], tools: Tools = NO_TOOLS, thinking: Thinking = "auto") -> P_co:
        """The conversation as the model expects it, up to where its answer starts, or the thought before it.

        A call that must be made is begun in it already. Raises UnsupportedModelError if the model's chat template does
        not take these messages, or tools.
        """
