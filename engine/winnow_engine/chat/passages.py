"""Turns a conversation into files, one for each fenced block of code and each text between them, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from winnow_engine.core import counted
from winnow_engine.index.languages import for_path
from winnow_engine.index.languages.table import LANGUAGES
from winnow_engine.index.lines import Lines
from winnow_engine.index.name_rules import ABOVE
from winnow_engine.prompting.markdown import FENCE, fenced
from winnow_engine.prompting.messages import Message, Role

# The lookbehind lets a path start only at its first character: a word of 100,000 took a minute.
_PATH = re.compile(r"(?<![\w./-])[\w./-]*[\w-]\.\w{1,8}")


@dataclass(frozen=True, slots=True)
class Passage:
    """Part of a message cut into units on its own, between fence lines `opening` and `closing`."""

    message: int
    path: str
    local_path: str
    text: str
    opening: str = ""
    closing: str = ""

    @property
    def data(self) -> bytes:
        """The text as the index reads it."""
        return self.text.encode("utf-8", "replace")


Ranges = Sequence[tuple[int, int]]
"""Lines that are kept, 1-based and inclusive, in order."""


def compressible(messages: Sequence[Message]) -> list[int]:
    """The numbers of the messages that may be cut: those before the user's last message, except the system's.

    After it, only results of tools that the assistant has gone on from: those it has yet to read stay whole.
    """
    asked, read = (_last(messages, role) for role in ("user", "assistant"))
    return [
        number
        for number, message in enumerate(messages)
        if (number < asked and message.role != "system") or (number < read and message.role == "tool")
    ]


def _last(messages: Sequence[Message], role: Role) -> int:
    return max((number for number, message in enumerate(messages) if message.role == role), default=0)


def passages(messages: Sequence[Message]) -> list[Passage]:
    """The parts that may be cut, in order. Joined with their fences, those of a message are its content."""
    found = []
    for number in compressible(messages):
        result = _result_path(messages, number)
        for place, (opening, text, closing) in enumerate(fenced(messages[number].content)):
            local = result if result and not opening else _local_path(opening, number, place)
            found.append(Passage(number, f"{number}/{place}/{local}", local, text, opening, closing))
    return found


def rebuilt(messages: Sequence[Message], all_passages: Sequence[Passage], kept: Mapping[str, Ranges]) -> list[Message]:
    """The conversation with only these lines of each passage, by its path; what is left out is marked."""
    by_message: dict[int, list[Passage]] = {}
    for passage in all_passages:
        by_message.setdefault(passage.message, []).append(passage)
    texts = {
        number: "".join(_marked(piece for passage in own for piece in _pieces(passage, kept.get(passage.path, ()))))
        for number, own in by_message.items()
    }
    return [replace(m, content=texts.get(number, m.content)) for number, m in enumerate(messages)]


def prose(content: str) -> str:
    """A message without its blocks of code."""
    return "".join(text for opening, text, _ in fenced(content) if not opening)


def _result_path(messages: Sequence[Message], number: int) -> str:
    """The path of a tool's result: a file that its call names, or else a text file. Empty for other messages."""
    message = messages[number]
    if message.role != "tool":
        return ""
    called = next((call.arguments for m in messages for call in m.calls if call.id == message.call_id), "")
    named = (ABOVE.sub("", found[0]) for found in _PATH.finditer(called))
    return next((path for path in named if for_path(path)), f"result-{number}.txt")


def _local_path(opening: str, number: int, place: int) -> str:
    """The path in a fence's line (```python src/a.py, ```src/a.py), or one that has its language's suffix."""
    match = FENCE.fullmatch(opening)
    if match is None:
        return f"message-{number}-{place}.md"
    info = match["info"].strip()
    if named := next((found[0] for found in _PATH.finditer(info) if for_path(found[0])), None):
        return named
    word = info.split()[0].lower() if info else ""
    suffixes = {language.name: language.suffixes[0] for language in LANGUAGES if language.suffixes}
    suffix = suffixes.get(word, f".{word}" if for_path(f"x.{word}") else ".txt")
    return f"message-{number}-{place}{suffix}"


def _pieces(passage: Passage, kept: Ranges) -> Iterator[str | int]:
    """Kept text and, where lines are left out, their number, in order."""
    lines, end = Lines(passage.data), 0
    if not kept and lines.count:
        yield lines.count + bool(passage.opening) + bool(passage.closing)
        return
    yield passage.opening
    for first, last in kept:
        yield first - end - 1
        start_byte, end_byte = lines.span(first, last)
        yield passage.data[start_byte:end_byte].decode()
        end = last
    yield lines.count - end
    yield passage.closing


def _marked(pieces: Iterator[str | int]) -> Iterator[str]:
    """The text, with a line in place of each run of lines left out."""
    missing = 0
    for piece in pieces:
        if isinstance(piece, int):
            missing += piece
        elif piece:
            yield from _mark(missing)
            missing = 0
            yield piece
    yield from _mark(missing)


def _mark(missing: int) -> Iterator[str]:
    if missing:
        yield f"⋯ {counted(missing, 'line')} left out\n"
