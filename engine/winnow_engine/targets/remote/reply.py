"""An answer as it streams in from a server."""

from __future__ import annotations

import time

from winnow_engine.core import Finish, Progress, Thought
from winnow_engine.errors import TargetProtocolError
from winnow_engine.prompting.tools import CallDelta
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.remote.chunks import Chunk, Usage
from winnow_engine.targets.remote.client import RetryPolicy
from winnow_engine.targets.remote.openai_api import Attempt, RemotePrompt
from winnow_engine.targets.text_stream import MARKERS, TextStream, ThoughtStream

# A server that does not stop by itself is stopped after this many characters per token that it may send.
_MOST_CHARACTERS_A_TOKEN = 64


class StreamedReply:
    """An answer as it comes in, and where its time goes. It may take several attempts."""

    def __init__(self, request: Request[RemotePrompt]) -> None:
        self._request, self._started = request, time.perf_counter()
        self._first_at: float | None = None
        self._shown: list[str] = []
        self._called = False
        self._notices: list[str] = []
        self._thoughts_before: list[Thought] = []
        self._tokens_before = 0
        self._clear()

    def begin(self, attempt: Attempt) -> None:
        """Begin an attempt. Thoughts that an earlier one passed on are kept."""
        if self._attempt.room and (thought := self.thought):
            self._thoughts_before.append(thought)
            self._tokens_before += self._said + self._thought
        self._clear(attempt)

    def _clear(self, attempt: Attempt | None = None) -> None:
        self.finish: Finish | None = None
        self._attempt = attempt or Attempt("auto", 0, None)
        self._untold: list[str] = []  # of a thought for which there is no room, so that it may be begun again
        on_thought = self._request.on_thought if self._attempt.room else self._untold.append
        self._thoughts = ThoughtStream(MARKERS, on_thought)
        # Ends at stop strings also where a server does not take them.
        self._text = TextStream(self._request.sampling.stop, self._thoughts)
        self._usage: Usage | None = None
        self._said = self._thought = self._characters = 0

    @property
    def only_thought(self) -> bool:
        """True if the model only thought in this attempt."""
        return self.thought_tokens > 0 and not self._called and not "".join(self._shown).strip()

    @property
    def thought_tokens(self) -> int:
        """The tokens of this attempt's thought, which a server may keep to itself."""
        return (self._usage.thought if self._usage else 0) or self._thought

    @property
    def thought(self) -> Thought | None:
        """The thought of this attempt."""
        return self._thoughts.thought(self.thought_tokens)

    def add(self, chunk: Chunk) -> bool:
        """Add a chunk, and pass on what it brings. Returns whether to read on."""
        most = self._request.sampling.max_tokens
        self._usage = chunk.usage or self._usage
        if chunk.text and self._attempt.room and self._said >= most:
            self.finish = "length"
            return False
        self.finish = chunk.finish or self.finish
        if chunk.notice:
            self._notices.append(chunk.notice)
        thinking = self._take(chunk)
        if self._text.stopped:
            self.finish = "stop"
            return False
        if self._characters > (most + self._attempt.room) * _MOST_CHARACTERS_A_TOKEN:
            raise TargetProtocolError("the target's server does not stop where it was asked to")
        return not (thinking and self._attempt.limit is not None and self._thought > self._attempt.room)

    def _take(self, chunk: Chunk) -> bool:
        """Pass on what a chunk brings. Returns whether it belongs to a thought."""
        if chunk.grew:
            self._grow()
        thinking = (bool(chunk.thought) and not chunk.text) or self._thoughts.thinking
        if chunk.thought:
            self._thoughts.add(chunk.thought)
        self._show(self._text.feed(chunk.text.encode()))
        thinking = thinking or self._thoughts.thinking
        self._thought += chunk.grew and thinking
        self._said += chunk.grew and not thinking
        self._characters += len(chunk.text) + len(chunk.thought)
        for call in chunk.calls:
            self._call(call)
        if chunk.finish:
            self._show(self._text.flush())
        return thinking

    @property
    def begun(self) -> bool:
        """Whether anything has come in this attempt."""
        return bool(self._said or self._thought or self._called)

    def end(self, whole: bool) -> bool:
        """End an answer without a finish, as too long unless `whole`. False if nothing, or half a call, came."""
        if not self.begun or (self._called and not whole):
            return False
        self._show(self._text.flush())
        self.finish = "eos" if whole else "length"
        if not whole:
            self._notices.append("the target's server ended its answer in the middle, without a reason to finish")
        return True

    def late(self, policy: RetryPolicy, tools: bool) -> str:
        """The deadline that was missed, in words."""
        if self._first_at is None:
            return f"no token within {policy.first_token_s:g} s"
        return f"no further token within {policy.next_s(tools):g} s"

    def broken_off(self, context_limit: int) -> str:
        """Explains an end without a finish reason."""
        if self._first_at is not None:
            return "ended its answer in the middle, without a reason to finish"
        return (
            f"ended its answer in the middle, before the first token: see its log. If its context is shorter than "
            f"{context_limit:,} tokens, say so with the setting targetContext"
        )

    def generation(self, notices: tuple[str, ...] = ()) -> Generation:
        """The whole answer, with the server's counts of tokens if it sent them."""
        now, first = time.perf_counter(), self._first_at
        usage = self._usage or Usage(len(self._request.prompt), self._said + self._thought)
        waited = (now if first is None else first) - self._started
        return Generation(
            text="".join(self._shown),
            finish=self.finish or "cancelled",
            prompt_tokens=usage.prompt,
            reused_tokens=usage.reused,
            prefill_s=waited,
            first_token_s=None if first is None else waited,
            decode_tokens=self._tokens_before + usage.answer,
            decode_s=0.0 if first is None else now - first,
            thought=_joined([*self._thoughts_before, *filter(None, [self.thought])]),
            notices=(*notices, *self._notices),
        )

    def _show(self, text: str) -> None:
        if text:
            while self._untold:
                self._request.on_thought(self._untold.pop(0))
            self._shown.append(text)
            self._request.on_text(text)

    def _call(self, call: CallDelta) -> None:
        self._called = True
        self._characters += len(call.name) + len(call.arguments)
        self._request.on_call(call)

    def _grow(self) -> None:
        if self._first_at is None:
            self._first_at = time.perf_counter()
            tokens = len(self._request.prompt)
            self._request.progress(Progress("prefill", tokens, tokens))


def _joined(thoughts: list[Thought]) -> Thought | None:
    if not thoughts:
        return None
    seconds, tokens = sum(one.seconds for one in thoughts), sum(one.tokens for one in thoughts)
    return Thought("\n\n".join(one.text for one in thoughts), seconds, tokens)
