"""An answer as it streams in from a server."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from winnow_engine.core import Finish, Progress, ProgressSink, TextSink
from winnow_engine.errors import TargetProtocolError
from winnow_engine.prompting.tools import CallDelta, CallSink
from winnow_engine.targets.base import Generation
from winnow_engine.targets.remote.chunks import Chunk, Usage
from winnow_engine.targets.remote.client import Patience


@dataclass(slots=True)
class StreamedReply:
    """An answer as it comes in, and where its time goes."""

    on_text: TextSink
    prompt_tokens: int
    most_characters: int
    progress: ProgressSink
    on_call: CallSink
    finish: Finish | None = None
    started: float = field(default_factory=time.perf_counter)
    _first_at: float | None = None
    _usage: Usage | None = None
    _grown: int = 0
    _characters: int = 0
    _shown: list[str] = field(default_factory=list)

    def add(self, chunk: Chunk) -> None:
        """Add a chunk, and pass on its text and calls."""
        self.finish, self._usage = chunk.finish or self.finish, chunk.usage or self._usage
        if chunk.grew:
            self._grow()
        if chunk.text:
            self._shown.append(chunk.text)
            self._characters += len(chunk.text)
            self.on_text(chunk.text)
        for call in chunk.calls:
            self._call(call)
        if self._characters > self.most_characters:
            raise TargetProtocolError("the target's server does not stop where it was asked to")

    def late(self, patience: Patience, tools: bool) -> str:
        """The deadline that was missed, in words."""
        if self._first_at is None:
            return f"no token within {patience.first_token_s:g} s"
        return f"no further token within {patience.next_s(tools):g} s"

    def broken_off(self, context_limit: int) -> str:
        """What an end without a reason to finish means, in words."""
        if self._first_at is not None:
            return "ended its answer in the middle, without a reason to finish"
        return (
            f"ended its answer in the middle, before the first token: see its log. If its context is shorter than "
            f"{context_limit:,} tokens, say so with --target-context"
        )

    def generation(self) -> Generation:
        """The whole answer, with the server's counts of tokens if it sent them."""
        now, first = time.perf_counter(), self._first_at
        usage = self._usage or Usage(self.prompt_tokens, self._grown)
        waited = (now if first is None else first) - self.started
        return Generation(
            text="".join(self._shown),
            finish=self.finish or "cancelled",
            prompt_tokens=usage.prompt,
            reused_tokens=usage.reused,
            prefill_s=waited,
            first_token_s=None if first is None else waited,
            decode_tokens=usage.answer,
            decode_s=0.0 if first is None else now - first,
        )

    def _call(self, call: CallDelta) -> None:
        self._characters += len(call.name) + len(call.arguments)
        self.on_call(call)

    def _grow(self) -> None:
        self._grown += 1
        if self._first_at is None:
            self._first_at = time.perf_counter()
            self.progress(Progress("prefill", self.prompt_tokens, self.prompt_tokens))
