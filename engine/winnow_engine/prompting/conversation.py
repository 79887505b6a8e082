"""A prompt with its answer, which a follow-up question continues, so that the target reads only what is new.

The target's memory holds one conversation, the last one; others may be on disk (`Conversations`,
`targets/snapshots/policy.py`). A follow-up repeats the messages word for word and adds the code that was not shown yet.
Where any shown line has changed since, the next prompt starts afresh.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from winnow_engine.core import Span, UnitKind
from winnow_engine.errors import WorkspaceError
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.messages import Message
from winnow_engine.question import Question, Turn
from winnow_engine.storage.store import Store

LEAST_BUDGET = 64  # tokens; a budget lowered further would not hold one function
_SHARE = 2
_MOST_BUDGETS, _SMALL_BUDGET = 2, 1500


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns so far, the messages of the last prompt with the answer, and the spans they show with their text."""

    turns: tuple[Turn, ...]
    messages: tuple[Message, ...]
    spans: tuple[Span, ...]
    texts: tuple[str, ...]

    @classmethod
    def of(
        cls, question: Question, answer: str, messages: Sequence[Message], workspace: Workspace, spans: tuple[Span, ...]
    ) -> Conversation:
        """The conversation after `messages`, which show these spans, were answered."""
        turns = (*question.earlier, Turn(question.text, answer))
        return cls(turns, (*messages, Message("assistant", answer)), spans, _texts(spans, workspace))

    def goes_on(self, question: Question, workspace: Workspace) -> bool:
        """True if `question` follows exactly these turns, and no code shown in them has changed."""
        return question.earlier == self.turns and self.texts == _texts(self.spans, workspace)

    def unseen(self, spans: Sequence[Span]) -> list[Span]:
        """The spans that have lines not shown yet."""
        return [span for span in spans if not _lines(span) <= self._shown(span.path)]

    def with_spans(self, new: Sequence[Span]) -> tuple[Span, ...]:
        """The spans shown after `new` are added, in path and line order, each line once."""
        shown = [(span.path, _lines(span)) for span in new]
        kept = [one for one in self.spans if not any(path == one.path and _lines(one) <= own for path, own in shown)]
        return tuple(sorted([*kept, *new], key=lambda span: (span.path, span.start_line)))

    def _shown(self, path: str) -> set[int]:
        return {line for span in self.spans if span.path == path for line in _lines(span)}


def follow_up_budget(tokens: int, *, at_cursor: bool) -> int:
    """Tokens that a follow-up may add where a first question could keep `tokens`; code at the cursor fits whole."""
    return tokens if at_cursor or tokens < LEAST_BUDGET else max(tokens // _SHARE, LEAST_BUDGET)


def is_too_long(spans: Sequence[Span], budget_tokens: int) -> bool:
    """True if follow-ups have added so much code that a fresh prompt is better, unless the budget is small."""
    return sum(span.tokens for span in spans) > _MOST_BUDGETS * max(budget_tokens, _SMALL_BUDGET)


def _lines(span: Span) -> set[int]:
    return set(range(span.start_line, span.end_line + 1))


def _texts(spans: Sequence[Span], workspace: Workspace) -> tuple[str, ...]:
    """The text of the spans as it is now; "" where the file or line no longer exists."""
    found = [(workspace.file_at(span.path), span) for span in spans]
    return tuple(
        file.text_of_lines(span.start_line, span.end_line) if file and span.end_line <= file.line_count else ""
        for file, span in found
    )


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
    turns = tuple(Turn(**turn) for turn in document["turns"])
    messages = tuple(Message(message["role"], message["content"]) for message in document["messages"])
    spans = tuple(Span(**{**span, "kind": UnitKind(span["kind"])}) for span in document["spans"])
    return Conversation(turns, messages, spans, tuple(document["texts"]))
