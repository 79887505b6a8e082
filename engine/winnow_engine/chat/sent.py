"""Remembers what a target was sent in place of long conversations, so that it is sent again word for word.

A target keeps what it has read as long as the prompt begins alike. Conversations are known by their beginnings, as they
came: a chain of hashes, one after each message. Memory is bounded in number and bytes; what was used last stays.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from time import monotonic

from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import Tools

_MOST = 256
_MOST_BYTES = 64 << 20
_HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class SentBefore:
    """The text sent for the first `length` messages of a conversation, `age_s` seconds ago.

    `cut` has the contents that were sent in place of others, by the message's number.
    """

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
        self._bound()

    def _bound(self) -> None:
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
