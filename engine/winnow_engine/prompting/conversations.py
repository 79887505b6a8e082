"""Conversations that a question may continue: the last one, and earlier ones from the store, also across restarts."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from winnow_engine.core import Span, UnitKind
from winnow_engine.errors import WorkspaceError
from winnow_engine.prompting.conversation import Conversation
from winnow_engine.prompting.messages import Message
from winnow_engine.question import Turn
from winnow_engine.storage.store import Store

_NAMESPACE = "conversation-1"
_log = logging.getLogger(__name__)


class Conversations:
    """Conversations by their turns. Without a store, only the last one. Safe to use from several threads."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._last: Conversation | None = None

    def with_turns(self, turns: Sequence[Turn]) -> Conversation | None:
        """The conversation with exactly these turns, or None if it is not kept."""
        last = self._last  # another thread may answer meanwhile
        if last and last.turns == tuple(turns):
            return last
        if self._store is None or not turns:
            return None
        record = self._store.get(_NAMESPACE, [_key(turns)]).get(_key(turns))
        return None if record is None else _read(json.loads(record["json"].tobytes()))

    def add(self, conversation: Conversation) -> None:
        """Keep a conversation. A failure to write it is logged; it costs time, not correctness."""
        self._last = conversation
        if self._store is None:
            return
        document = json.dumps(asdict(conversation)).encode()
        try:
            self._store.put(_NAMESPACE, _key(conversation.turns), {"json": np.frombuffer(document, np.uint8)})
        except WorkspaceError as error:
            _log.warning("a conversation will not outlive this process: %s", error)


def _key(turns: Sequence[Turn]) -> str:
    document = json.dumps([[turn.question, turn.answer] for turn in turns])
    return hashlib.blake2b(document.encode(), digest_size=20).hexdigest()


def _read(document: dict[str, Any]) -> Conversation:
    """The inverse of `asdict` on a conversation."""
    return Conversation(
        turns=tuple(Turn(**turn) for turn in document["turns"]),
        messages=tuple(Message(message["role"], message["content"]) for message in document["messages"]),
        spans=tuple(map(_read_span, document["spans"])),
        texts=tuple(document["texts"]),
    )


def _read_span(document: dict[str, Any]) -> Span:
    """A span as `asdict` wrote it. Conversations stored by earlier versions call its features `evidence`."""
    features = document["evidence"] if "evidence" in document else document["features"]
    known = {name: value for name, value in document.items() if name != "evidence"}
    return Span(**{**known, "kind": UnitKind(document["kind"]), "features": features})
