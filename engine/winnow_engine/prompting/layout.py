"""Earlier turns, spans and a question → the messages the target reads.

Spans stand in path and line order, so that a second question with the same spans shares their prefix; another order
would share little more (docs/decisions/0008-kv-reuse.md). The question comes last. Neighbouring spans share one header;
every tenth line carries its number. Over 1,000 lines of click's core.py (8,103 tokens of Qwen2.5) that margin costs 8%
more tokens; numbering every line would cost 64%.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from winnow_engine.core import Cursor, Question, Span, Turn
from winnow_engine.index.lines import text_lines
from winnow_engine.index.workspace import IndexedFile, Workspace
from winnow_engine.prompting.messages import Message

SYSTEM = (
    "You answer questions about a code repository. You see the parts of it that matter to the question, each under "
    "a header `path:first-last` with its line range; every tenth line is numbered in the margin, and `⋯` marks lines "
    "left out. "
    "Answer from what you see, briefly and exactly, name the functions involved, and cite code as `path:line`. "
    "If the answer is not in what you see, say so."
)
_NOTHING = "(Nothing in the repository was found for this question.)"
_GUTTER = 5
_NUMBER_EVERY = 10


def build_messages(workspace: Workspace, spans: Sequence[Span], question: Question) -> list[Message]:
    """The conversation: what was said before, then the code and the question."""
    said = [message for turn in question.earlier for message in _messages(turn)]
    code = "\n".join(_files(workspace, spans)) or _NOTHING
    where = _where(question.cursor)
    asked = Message("user", f"{code}\n\n{where}Question: {question.text}")
    return [Message("system", SYSTEM), *said, asked]


def continued_messages(
    said: Sequence[Message], workspace: Workspace, spans: Sequence[Span], question: Question
) -> list[Message]:
    """What was said before, word for word, then the code that is new and the question."""
    code = "\n".join(_files(workspace, spans))
    asked = f"{_where(question.cursor)}Question: {question.text}"
    return [*said, Message("user", f"{code}\n\n{asked}" if code else asked)]


def with_latest_turns(question: Question, tokens: int, count: Callable[[str], int]) -> Question:
    """The question with as many of the latest turns before it as `tokens` hold; `count` gives a text's tokens."""
    kept: list[Turn] = []
    for turn in reversed(question.earlier):
        tokens -= sum(count(message.content) for message in _messages(turn))
        if tokens < 0:
            break
        kept.insert(0, turn)
    return replace(question, earlier=tuple(kept))


def _messages(turn: Turn) -> tuple[Message, Message]:
    return Message("user", f"Question: {turn.question}"), Message("assistant", turn.answer)


def _where(cursor: Cursor | None) -> str:
    if cursor is None:
        return ""
    if cursor.start_line == cursor.end_line:
        return f"The cursor is at {cursor.path}:{cursor.start_line}.\n"
    return f"Selected: {cursor.path}:{cursor.start_line}-{cursor.end_line}.\n"


def _files(workspace: Workspace, spans: Sequence[Span]) -> Iterator[str]:
    by_path = {file.path: file for file in workspace.files}
    for path in dict.fromkeys(span.path for span in spans):
        yield "".join(_file(by_path[path], _merged([s for s in spans if s.path == path])))


def _merged(spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Line ranges of one file's spans, with those that touch joined."""
    merged = [(spans[0].start_line, spans[0].end_line)]
    for span in spans[1:]:
        start, end = merged[-1]
        if span.start_line == end + 1:
            merged[-1] = (start, span.end_line)
        else:
            merged.append((span.start_line, span.end_line))
    return merged


def _file(file: IndexedFile, ranges: list[tuple[int, int]]) -> Iterator[str]:
    gaps = [below[0] - above[1] - 1 for above, below in pairwise([(0, 0), *ranges])]
    for (start, end), gap in zip(ranges, gaps, strict=True):
        if gap:
            yield f"⋯ {gap} lines\n"
        yield f"{file.path}:{start}-{end}\n"
        for number, line in enumerate(text_lines(file.text_of_lines(start, end)), start):
            margin = f"{number:>{_GUTTER}}" if number % _NUMBER_EVERY == 0 else " " * _GUTTER
            yield f"{margin} {line}\n"
    rest = file.lines.count - ranges[-1][1]
    if rest:
        yield f"⋯ {rest} lines\n"
