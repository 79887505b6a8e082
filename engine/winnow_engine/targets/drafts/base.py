"""The contract of a draft, and how a draft method registers itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from winnow_engine.config import TargetOptions
from winnow_engine.core import Prompt
from winnow_engine.errors import DraftError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import NOTHING, DraftTree
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary

_PADDING = 128  # tokens: vocabularies of one family are padded to different sizes


def check_vocabulary(draft: Vocabulary, target: Vocabulary, name: str) -> None:
    """Raise DraftError unless the model called `name` has the target's tokens. Sizes may differ by padding."""
    shared = min(draft.size, target.size)
    other = next((token for token in range(shared) if draft.spelling(token) != target.spelling(token)), None)
    if other is None and abs(draft.size - target.size) <= _PADDING:
        return
    what = (
        "sizes differ"
        if other is None
        else f"token {other} is {draft.spelling(other)!r}, not {target.spelling(other)!r}"
    )
    raise DraftError(f"{name} cannot draft for this target: their vocabularies differ ({what})")


METHOD_KEY = "winnow.draft.method"
"""Metadata of draft files whose layers are those of an ordinary architecture: what stands for their architecture."""

MOST_NODES = 16
"""The most nodes of one tree. Each costs a row of logits, and at worst a sequence of the target's memory."""


class Draft:
    """Guesses how an answer goes on, on the target's owner thread: `begin`, then `accept`, `propose` in turn.

    Methods that a draft does not have do nothing.
    """

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Begin an answer to `prompt`. Once `abort` is set, `propose` must return soon."""

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """What may follow the answer so far, in at most `limit` nodes that are each worth `least` or more."""
        return NOTHING

    def accept(self, tokens: Sequence[int]) -> None:
        """Append `tokens`, at least one, to the answer, whatever was proposed. The first one is already shown."""

    def close(self) -> None:
        """Free what the draft holds."""


class NoDraft(Draft):
    """Plain decoding: one token for each evaluation."""


class ChainDraft(Draft):
    """Cuts what another draft proposes to a chain of first children, for a target whose memory has no branches."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.begin, self.accept, self.close = draft.begin, draft.accept, draft.close  # type: ignore[method-assign]

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """The trunk of what the other draft proposes."""
        return self._draft.propose(limit, least).trunk()


@dataclass(frozen=True, slots=True)
class DraftFile:
    """A draft model, loaded, whose vocabulary is the target's, unless the method has its own."""

    path: Path
    model: LlamaModel
    target: LlamaModel
    options: TargetOptions

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class FileMethod:
    """A draft method that reads a draft file, chosen by its `METHOD_KEY` or else its `general.architecture`.

    `open` raises DraftError if draft and target do not fit. The draft it returns closes the file's model.
    """

    architecture: str
    open: Callable[[DraftFile], Draft]
    own_vocabulary: bool = False
    """Whether its files have tokens of their own: only `open` can tell if they are the target's."""
