"""Winnow's own requests, from JSON to types, and the questions of an editor's clicks. See docs/protocol.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Generic, TypeVar, cast

import attrs
from lsprotocol import types

from winnow_engine.core import Folder
from winnow_engine.editing.request import EditKind
from winnow_engine.question import WHY, Cursor, Question, Turn, about_changes, without_mention
from winnow_lsp.host.settings import BUDGET

_LONGEST_PROBLEM = 1000  # characters; template errors of C++ run to pages

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
_MOST_ATTEMPTS = 1_000_000
ASK, SPANS, EDIT, SERVER = "winnow/ask", "winnow/spans", "winnow/edit", "winnow/server"
STARTERS, PREPARE, SYMBOLS = "winnow/starters", "winnow/prepare", "winnow/symbols"
KEPT, STATUS = "winnow/kept", "winnow/status"


class Topic(StrEnum):
    """A question about the code at the cursor."""

    CODE = "code"
    DIAGNOSTIC = "diagnostic"
    USAGE = "usage"
    IMPACT = "impact"
    WHY = "why"


_WORDING = {
    Topic.CODE: "Explain {it}: what it does, how, and what it relies on.",
    Topic.DIAGNOSTIC: "Explain this problem in {it}, and how to fix it:{problems}",
    Topic.USAGE: "How is {it} used? Name the places that use it, and what for.",
    Topic.IMPACT: "What would break if {it} changed? Name the code that relies on it, and how.",
    Topic.WHY: "Why is {it} so? Name each commit that made it so by its id, and say which reason its message gives.",
}


def ask_about(topic: Topic, cursor: Cursor, name: str = "", problems: Sequence[str] = ()) -> Question:
    """The question about the symbol called `name`, or about the selected code where that is empty."""
    it = f"`{name}`" if name else "the selected code"
    listed = "".join(f"\n- {problem[:_LONGEST_PROBLEM]}" for problem in problems)
    return Question(_WORDING[topic].format(it=it, problems=listed), cursor, changes=WHY if topic is Topic.WHY else None)


@attrs.frozen
class AskParams:
    """A question, or a topic to ask `about` the code at `range`; where it is asked from, and how to answer it.

    A question that begins with `@changes` or the like is about `changes`, of `folders` or all; it may have no words.
    """

    question: str = ""
    about: Topic | None = None
    changes: str | None = None
    folders: tuple[Folder, ...] = ()
    problems: tuple[str, ...] = ()
    text_document: types.TextDocumentIdentifier | None = None
    range: types.Range | None = None
    conversation: str | None = None
    earlier: tuple[Turn, ...] | None = None
    supersedes: bool = False
    budget: int | str | None = None
    partial_result_token: types.ProgressToken | None = None
    work_done_token: types.ProgressToken | None = None

    @classmethod
    def read(cls, value: object) -> AskParams:
        """Read them from JSON. Raises ValueError, naming the field, if one is missing or has the wrong type."""
        fields = _mapping(value, "params")
        earlier, changes = _optional(fields, "earlier", _list), _optional(fields, "changes", _text)
        about = _optional(fields, "about", _topic)
        question = _optional(fields, "question", _text) or ""
        if changes is None and about is None:
            question, changes = without_mention(question)
        worded = about_changes(changes) if changes is not None and about is None else ""
        return cls(
            question=question or worded,
            about=about,
            changes=changes,
            problems=_problems(fields),
            text_document=_optional(fields, "textDocument", _document),
            range=_place(fields),
            conversation=_optional(fields, "conversation", _text),
            earlier=None if earlier is None else tuple(map(_turn, earlier)),
            supersedes=_optional(fields, "supersedes", _flag) or False,
            budget=_optional(fields, "budget", _budget),
            partial_result_token=_optional(fields, "partialResultToken", _token),
            work_done_token=_optional(fields, "workDoneToken", _token),
        )

    def __attrs_post_init__(self) -> None:
        if bool(self.question.strip()) == (self.about is not None):
            raise ValueError("give a question or `about`: exactly one of the two")
        if self.about and not (self.text_document and self.range):
            raise ValueError("`about` needs a textDocument, and a range or position in it")


@attrs.frozen
class EditParams:
    """A change of the code at `range`. `digest` is that of the text for which the change was offered.

    `attempt` counts the proposals for it that the user has turned down.
    """

    change: EditKind
    text_document: types.TextDocumentIdentifier
    range: types.Range
    problems: tuple[str, ...] = ()
    digest: str | None = None
    attempt: int = 0
    work_done_token: types.ProgressToken | None = None

    @classmethod
    def read(cls, value: object) -> EditParams:
        """Read them from JSON. Raises ValueError, naming the field, if one is missing or has the wrong type."""
        fields = _mapping(value, "params")
        place = _place(fields)
        if place is None:
            raise ValueError("a change needs the range or position of the code")
        return cls(
            change=_kind_of_edit(fields.get("change"), "change"),
            text_document=_document(fields.get("textDocument"), "textDocument"),
            range=place,
            problems=_problems(fields),
            digest=_optional(fields, "digest", _text),
            attempt=_optional(fields, "attempt", _count) or 0,
            work_done_token=_optional(fields, "workDoneToken", _token),
        )


@attrs.define
class WinnowRequest(Generic[T]):
    """One of our requests."""

    id: int | str
    params: T
    method: str
    jsonrpc: str = "2.0"


MESSAGES: Mapping[str, type] = {
    ASK: WinnowRequest[AskParams],
    SPANS: WinnowRequest[AskParams],
    PREPARE: WinnowRequest[AskParams],
    EDIT: WinnowRequest[EditParams],
    SYMBOLS: WinnowRequest[types.WorkspaceSymbolParams],
}


def _optional(fields: Mapping[str, Any], name: str, read: Callable[[object, str], T]) -> T | None:
    value = fields.get(name)
    return None if value is None else read(value, name)


def _typed(kind: type[T], words: str) -> Callable[[object, str], T]:
    """A reader of values of a type. It raises ValueError for any other, in these words."""

    def read(value: object, name: str) -> T:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"{name} must be {words}")
        return value

    return read


def _one_of(kind: type[E]) -> Callable[[object, str], E]:
    def read(value: object, name: str) -> E:
        if (text := _text(value, name)) not in set(kind):
            raise ValueError(f"{name} must be one of {', '.join(kind)}")
        return kind(text)

    return read


_mapping, _list, _text = _typed(dict, "an object"), _typed(list, "a list"), _typed(str, "a string")
_flag, _whole = _typed(bool, "true or false"), _typed(int, "a whole number")
_topic, _kind_of_edit = _one_of(Topic), _one_of(EditKind)


def _problems(fields: Mapping[str, Any]) -> tuple[str, ...]:
    problems = _optional(fields, "diagnostics", _list) or []
    return tuple(_text(_mapping(p, "diagnostics").get("message"), "diagnostics.message") for p in problems)


def _count(value: object, name: str) -> int:
    number = _whole(value, name)
    if not 0 <= number <= _MOST_ATTEMPTS:
        raise ValueError(f"{name} must be from 0 to {_MOST_ATTEMPTS:,}")
    return number


def _budget(value: Any, name: str) -> int | str | None:
    if not BUDGET.allows(value):
        raise ValueError(f"{name} must be {BUDGET.words}")
    return cast("int | str", value)


def _turn(value: object) -> Turn:
    fields = _mapping(value, "earlier")
    return Turn(_text(fields.get("question"), "earlier.question"), _text(fields.get("answer"), "earlier.answer"))


def _token(value: object, name: str) -> types.ProgressToken:
    return value if isinstance(value, str) else _whole(value, name)


def _document(value: object, name: str) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(_text(_mapping(value, name).get("uri"), f"{name}.uri"))


def _position(value: object, name: str) -> types.Position:
    fields = _mapping(value, name)
    line, character = (_whole(fields.get(part), f"{name}.{part}") for part in ("line", "character"))
    if line < 0 or character < 0:
        raise ValueError(f"{name} must not be negative")
    return types.Position(line, character)


def _place(fields: Mapping[str, Any]) -> types.Range | None:
    position = _optional(fields, "position", _position)
    return _optional(fields, "range", _range) or (types.Range(position, position) if position else None)


def _range(value: object, name: str) -> types.Range:
    fields = _mapping(value, name)
    start, end = (_position(fields.get(part), f"{name}.{part}") for part in ("start", "end"))
    if (end.line, end.character) < (start.line, start.character):
        raise ValueError(f"{name} ends before it starts")
    return types.Range(start, end)
