"""Chooses what to send of a conversation: all of it, what was sent before and what is new, or a new choice.

Sending the same words again costs little where the target remembers them. So a choice is kept until it must be made
anew: when the conversation outgrows its limit, or when the target has forgotten it.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from time import monotonic
from typing import Any, Literal

from winnow_engine.chat.compress import Compressor
from winnow_engine.chat.passages import compressible
from winnow_engine.core import Cancellation, Thinking
from winnow_engine.errors import PromptTooLongError
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import Tools
from winnow_engine.runtime import Loading
from winnow_engine.targets.base import Target

_MOST = 256
_MOST_BYTES = 64 << 20
_HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class SentBefore:
    """The text sent for the first `length` messages `age_s` seconds ago; `cut` has changed contents by number."""

    length: int
    cut: Mapping[int, str]
    age_s: float

    def continued(self, messages: Sequence[Message]) -> list[Message]:
        """The conversation with what was sent before word for word, and the rest whole."""
        return [replace(m, content=self.cut.get(number, m.content)) for number, m in enumerate(messages)]


@dataclass(eq=False)
class _Record:
    chain: list[bytes]
    cut: Mapping[int, str]
    used: float

    @property
    def size(self) -> int:
        """In bytes, about."""
        return _HASH_BYTES * len(self.chain) + sum(4 * len(text) for text in self.cut.values())


class SentConversations:
    """The text sent for recent conversations. Safe to use from several threads."""

    def __init__(
        self, most: int = _MOST, most_bytes: int = _MOST_BYTES, clock: Callable[[], float] = monotonic
    ) -> None:
        """Keep `most` conversations and `most_bytes` at most."""
        self._most, self._most_bytes, self._clock = most, most_bytes, clock
        self._records: OrderedDict[int, _Record] = OrderedDict()
        self._of: dict[bytes, _Record] = {}  # the newest record with this beginning
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._records)

    def find(self, messages: Sequence[Message], tools: Tools) -> SentBefore | None:
        """The text sent for the longest known beginning; None if no message but the system's is known."""
        chain = _chain(messages, tools)
        first = next((number for number, m in enumerate(messages) if m.role != "system"), len(messages))
        with self._lock:
            for length in range(len(messages), first, -1):
                record = self._of.get(chain[length - 1])
                if record:
                    cut = {number: text for number, text in record.cut.items() if number < length}
                    return SentBefore(length, cut, self._clock() - record.used)
        return None

    def remember(self, messages: Sequence[Message], tools: Tools, sent: Sequence[Message]) -> None:
        """Keep what is sent for a conversation, in place of what was sent for its beginnings."""
        pairs = enumerate(zip(messages, sent, strict=True))
        cut = {number: given.content for number, (own, given) in pairs if given.content != own.content}
        with self._lock:
            self._put(_Record(_chain(messages, tools), cut, self._clock()))

    def _put(self, record: _Record) -> None:
        replaced = {id(old): old for key in record.chain if (old := self._of.get(key))}
        self._records[id(record)] = record
        self._of.update(dict.fromkeys(record.chain, record))
        for old in replaced.values():
            if self._of.get(old.chain[-1]) is not old:  # no other conversation goes on from there
                self._forget(old)
        while len(self._records) > self._most or sum(one.size for one in self._records.values()) > self._most_bytes:
            self._forget(next(iter(self._records.values())))

    def _forget(self, record: _Record) -> None:
        del self._records[id(record)]
        for key in record.chain:
            if self._of.get(key) is record:
                del self._of[key]


def _chain(messages: Sequence[Message], tools: Tools) -> list[bytes]:
    """A hash for each beginning of the conversation, the one with one message first."""
    chain, last = list[bytes](), _hash(b"", list(tools.definitions))
    for message in messages:
        calls = [[call.id, call.name, call.arguments] for call in message.calls]
        last = _hash(last, [message.role, message.content, calls, message.call_id])
        chain.append(last)
    return chain


def _hash(before: bytes, value: object) -> bytes:
    return blake2b(before + json.dumps(value).encode(), digest_size=_HASH_BYTES).digest()


Compression = Literal["none", "kept", "new"]
"""Nothing was cut; what was sent before stays; or it was chosen anew."""

SHARE = 0.5
"""How much of its limit a conversation gets that is known to go on. The rest is room to grow."""

# Servers do not say what they remember: some keep a conversation for minutes, others until memory is short.
_COLD_AFTER_S = 3600
_LEAST_BUDGET = 64
_MARGIN = 0.95


@dataclass(frozen=True, slots=True)
class Fitting:
    """The limits: `budget` tokens of what may be cut, and `room` tokens for the whole prompt.

    If that is too little for what is never cut, the prompt may have `limit` tokens, which shortens the answer. Tools,
    system messages, the user's last one and what the assistant has not seen yet are never cut.
    """

    target: Target
    keys: Loading[KeyCache]
    budget: int
    room: int
    limit: int
    cancellation: Cancellation
    thinking: Thinking = "auto"

    def fit(
        self, messages: Sequence[Message], tools: Tools, original: Any, sent: SentConversations
    ) -> tuple[Any, Compression]:
        """The prompt to send, which `sent` learns, and how it came about. PromptTooLongError, CancelledError."""
        before = sent.find(messages, tools)
        given, prompt, compression = self._choose(messages, tools, original, before)
        sent.remember(messages, tools, given)
        return prompt, compression

    def _choose(
        self, messages: Sequence[Message], tools: Tools, original: Any, before: SentBefore | None
    ) -> tuple[Sequence[Message], Any, Compression]:
        if before and before.cut:
            again = before.continued(messages)
            prompt = self._prompt(again, tools)
            if self._fits(again, prompt) and self._is_warm(again, prompt, before):
                return again, prompt, "kept"
        if self._fits(messages, original):
            return messages, original, "none"
        return *self._compressed(messages, tools, SHARE if before else 1.0), "new"

    def _prompt(self, messages: Sequence[Message], tools: Tools) -> Any:
        return self.target.chat_prompt(messages, tools, self.thinking)

    def _fits(self, messages: Sequence[Message], prompt: Any) -> bool:
        numbers = compressible(messages)
        if len(prompt) > (self.room if numbers else self.limit):
            return False
        return len(prompt) <= self.budget or self._count(messages, numbers) <= self.budget

    def _is_warm(self, again: Sequence[Message], prompt: Any, before: SentBefore) -> bool:
        """True if the target still remembers at least half of what it was sent before."""
        unread = self.target.unread(prompt)
        if unread is None:
            return before.age_s < _COLD_AFTER_S
        return 2 * (len(prompt) - unread) >= self._count(again, range(before.length))

    def _count(self, messages: Sequence[Message], numbers: Sequence[int]) -> int:
        return self.target.count("\n".join(messages[number].content for number in numbers))

    def _compressed(self, messages: Sequence[Message], tools: Tools, share: float) -> tuple[Sequence[Message], Any]:
        """A new choice and its prompt. With a `share` below 1 it fills that much of what marks and fences leave."""
        numbers = compressible(messages)
        compressor = Compressor(messages, self.keys.wait_for(self.cancellation), self.cancellation) if numbers else None
        least = compressor.within(0) if compressor else messages
        length = len(self._prompt(least, tools))
        if compressor is None or length > self.limit:
            raise PromptTooLongError(length, self.limit, self.target.context_limit, len(messages))
        room = length + share * (max(self.room, (length + self.limit) // 2) - length)
        most = self._most(self._count(least, numbers), share)
        tokens = min(int(share * min(self.budget, self.room)), compressor.tokens)
        while True:
            given = compressor.within(tokens)
            prompt = self._prompt(given, tools)
            count = self._count(given, numbers) if most else 0
            if not tokens or (len(prompt) <= room and count <= most):
                return given, prompt
            fits = min(room / len(prompt), most / count if count else 1)
            tokens = int(tokens * _MARGIN * fits)
            tokens = tokens if tokens >= _LEAST_BUDGET else 0

    def _most(self, least: int, share: float) -> float:
        """The target's tokens that what may be cut should take, `least` if all of it is cut; 0 for any number.

        The drafter counts otherwise than the target, whose count may be an estimate: half of the drafter's tokens may
        be all that the target allows. What took more would not fit when it is asked again (`_fits`).
        """
        return least + share * (self.budget - least) if least < self.budget else 0
