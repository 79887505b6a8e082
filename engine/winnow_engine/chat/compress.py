"""Keeps what the last question of a long conversation needs: the drafter scores the rest as if it were a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from winnow_engine.chat.passages import passages, prose, rebuilt
from winnow_engine.core import Cancellation, ignore
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.prompting.messages import Message
from winnow_engine.question import Question, Turn
from winnow_engine.selection.budget import Focus, choose
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import read_fusion_weights
from winnow_engine.selection.scoring_input import ask_drafter
from winnow_engine.selection.workspace_units import WorkspaceUnits

# A message asks its question at one end, whatever else is pasted into it.
_END_CHARACTERS = 1000
# A longer message gives material rather than asks: its words would drown those of the question after it.
_SHORT_CHARACTERS = 300
# "And the same for the other one?": the newest messages come first, up to this share of the budget.
_NEWEST_SHARE = 0.25


class Compressor:
    """A conversation with a score for each unit of what may be cut."""

    def __init__(self, messages: Sequence[Message], cache: KeyCache, cancellation: Cancellation) -> None:
        """Have the drafter read what it has not read before, and score it. Raises CancelledError."""
        self._messages, self._passages = messages, passages(messages)
        self._workspace = Workspace(tuple(IndexedFile.of(one.path, one.local_path, one.data) for one in self._passages))
        keys = cache.of(self._workspace, ignore, cancellation)
        asked = ask_drafter(self._workspace, keys, cache.drafter, question_of(messages), cancellation)
        self._scores = fuse(asked, read_fusion_weights(cache.drafter.fusion)).total
        self._source = WorkspaceUnits(self._workspace, keys.unit_tokens, cache.drafter.count)

    @property
    def tokens(self) -> int:
        """The drafter's tokens of all that may be cut."""
        return int(self._source.tokens.sum())

    def within(self, budget: int) -> list[Message]:
        """The conversation with at most `budget` of those tokens, in order. What is left out is marked."""
        pieces = choose(self._source, self._scores, budget, self._newest(budget)) if budget else []
        by_path = groupby(pieces, key=lambda piece: self._workspace.units[piece.unit][0].path)
        kept = {path: [(piece.start_line, piece.end_line) for piece in own] for path, own in by_path}
        return rebuilt(self._messages, self._passages, kept)

    def _newest(self, budget: int) -> Focus:
        """The units of the newest messages, to keep first: as many whole messages as fit their share."""
        room, units, end = _NEWEST_SHARE * budget, list[int](), len(self._source.tokens)
        first_units: dict[int, int] = {}
        for passage, start in zip(self._passages, self._workspace.unit_starts.tolist(), strict=False):
            first_units.setdefault(passage.message, start)
        for start in reversed(first_units.values()):
            room -= int(self._source.tokens[start:end].sum())
            if room < 0:
                break
            units, end = [*range(start, end), *units], start
        return Focus((), (1, 1), tuple(units))


def question_of(messages: Sequence[Message]) -> Question:
    """The question of a conversation: the user's last message, after the one before it if that was short."""
    said = [_asked(message.content) for message in messages if message.role == "user" and message.content.strip()]
    earlier = [Turn(text, "") for text in said[-2:-1] if 0 < len(text) <= _SHORT_CHARACTERS]
    return Question(said[-1], earlier=tuple(earlier))


def _asked(content: str) -> str:
    """A message without its code, or with it if there is nothing else; of a long text, its beginning and its end."""
    text = prose(content).strip() or content.strip()
    return text if len(text) <= 2 * _END_CHARACTERS else f"{text[:_END_CHARACTERS]}\n{text[-_END_CHARACTERS:]}"
