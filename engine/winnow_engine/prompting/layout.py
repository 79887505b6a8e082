"""Earlier turns, spans and a question → the messages the target reads.

The code at the cursor stands first. The other files stand in the order of their best spans, the best of all last, just
before the question. Each file's path stands once, on a line of its own, and few lines carry a number: Qwen2.5 has a
token for every digit. The line of a class or the like stands above the first of its methods. docs/results/answers.md
compares layouts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from winnow_engine.core import Span, Unit, UnitKind, counted
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.lines import text_lines
from winnow_engine.index.units import enclosing
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.messages import Message
from winnow_engine.question import Cursor, Question, ShownChange, Turn

SYSTEM = (
    "Answer from this code, whose numbers are line numbers, briefly and exactly; name functions, cite `path:line`. "
    "If it does not answer, say so."
)
SMALL_CONTRACT = (
    "Answer in 2 to 6 sentences, unless code is asked for. Begin with the name of the function or class that does it, "
    "and say what it does and when. Do not repeat the question."
)
"""The last line of the first prompt for a small target, which forgets what stands at the beginning."""
OVERVIEW_CONTRACT = (
    "Answer in 2 to 6 sentences, in the words of these files; quote commands and names as they stand there. "
    "Do not repeat the question."
)
"""The same for a question about the whole project, which no function answers."""
TESTS_CONTRACT = (
    "Answer in one to three sentences: the command that runs all tests, as it stands in these files and as a developer "
    "types it, and the file that has it. Leave out its options."
)
"""The same for a question about how tests are run."""
UNTESTED_CONTRACT = 'Begin with "No command that runs tests is in the code shown.", and write nothing else.'
"""The same where nothing tells how tests are run."""
_ASKS = re.compile(r"[?？]|^\W*(?:how|what|where|which|who|why|when|explain|describe)\b", re.IGNORECASE)
_NOTHING = "(Nothing in the repository was found for this question.)"
_NUMBER_APART = 10  # lines, at least, from one number to the next in a run of lines


def asks(text: str) -> bool:
    """True if a text asks something; other texts may want code."""
    return _ASKS.search(text) is not None


def build_messages(
    workspace: Workspace,
    spans: Sequence[Span],
    question: Question,
    change: ShownChange | None = None,
    *,
    contract: str = "",
) -> list[Message]:
    """The conversation: what was said before, then the code, a change, the question, and the contract of its answer."""
    said = [message for turn in question.earlier for message in _messages(turn)]
    besides = _besides(spans, change)
    at_cursor, others = ([span for span in besides if question.at_cursor(span) is at] for at in (True, False))
    code = "\n".join([*_files(workspace, at_cursor), *_files(workspace, others)])
    shown = [code or (_NOTHING if change is None else ""), change.text if change else ""]
    where = _where(question.cursor)
    asked = Message("user", "\n\n".join(filter(None, [*shown, f"{where}Question: {question.text}", contract])))
    return [Message("system", SYSTEM), *said, asked]


def continued_messages(
    said: Sequence[Message],
    workspace: Workspace,
    spans: Sequence[Span],
    question: Question,
    change: ShownChange | None = None,
) -> list[Message]:
    """The messages before, word for word, then new code, the change, and the question."""
    code = code_of(workspace, _besides(spans, change))
    seen = change is None or any(change.text in message.content for message in said)
    asked = f"{_where(question.cursor)}Question: {question.text}"
    new = [code, "" if change is None or seen else change.text, asked]
    return [*said, Message("user", "\n\n".join(filter(None, new)))]


def _besides(spans: Sequence[Span], change: ShownChange | None) -> list[Span]:
    """The spans whose lines do not stand in the change."""
    places = {(place.path, place.start_line, place.end_line) for place in change.places} if change else set()
    return [span for span in spans if (span.path, span.start_line, span.end_line) not in places]


def code_of(workspace: Workspace, spans: Sequence[Span]) -> str:
    """The spans' lines below their files' paths, as in any prompt; empty without spans."""
    return "\n".join(_files(workspace, spans))


def with_latest_turns(question: Question, tokens: int, count: Callable[[str], int]) -> Question:
    """The question with as many of the latest turns before it as `tokens` hold; `count` gives a text's tokens."""
    kept: list[Turn] = []
    for turn in reversed(question.earlier):
        tokens -= sum(count(message.content) for message in _messages(turn))
        if tokens < 0:
            break
        kept.insert(0, turn)
    return replace(question, earlier=tuple(kept))


def without_middle(text: str, characters: int) -> tuple[str, str]:
    """So many characters of a text, a third from its beginning, with a line for those between; what that left out.

    Cuts at line ends, unless half of an end has none.
    """
    first = characters // 3
    end, begin = first, len(text) - (characters - first)
    end = text.rfind("\n", end // 2, end) + 1 or end
    begin = text.find("\n", begin, (begin + len(text)) // 2) + 1 or begin
    lines = text.count("\n", end, begin)
    left_out = counted(lines, "line") if lines else counted(begin - end, "character")
    apart = "" if text[:end].endswith("\n") else "\n"
    return f"{text[:end]}{apart}⋯ {left_out} left out\n{text[begin:]}", left_out


def _messages(turn: Turn) -> tuple[Message, Message]:
    return Message("user", f"Question: {turn.question}"), Message("assistant", turn.answer)


def _where(cursor: Cursor | None) -> str:
    if cursor is None:
        return ""
    if cursor.start_line == cursor.end_line:
        return f"The cursor is at {cursor.path}:{cursor.start_line}.\n"
    return f"Selected: {cursor.path}:{cursor.start_line}-{cursor.end_line}.\n"


def _files(workspace: Workspace, spans: Sequence[Span]) -> Iterator[str]:
    """The text of each file with spans, the one with the best span last."""
    scores: dict[str, float] = {}
    for span in spans:
        scores[span.path] = max(span.score, scores.get(span.path, span.score))
    for path in sorted(scores, key=lambda path: scores[path]):
        yield "".join(_file(workspace.file(path), [span for span in spans if span.path == path]))


def _file(file: IndexedFile, spans: Sequence[Span]) -> Iterator[str]:
    """The path, then the lines. A number precedes the first of each run of lines, and of a span well below the last."""
    yield f"{file.path}\n"
    last = numbered = -_NUMBER_APART
    shown = {line for span in spans for line in range(span.start_line, span.end_line + 1)}
    for span in spans:
        for line in _lines_around(file, span.start_line):
            if line not in shown:
                shown.add(line)
                yield f"{line} {file.text_of_lines(line, line).rstrip()}\n"
        if span.start_line != last + 1 or span.start_line >= numbered + _NUMBER_APART:
            numbered = span.start_line
            yield f"{numbered} "
        yield from (f"{line}\n" for line in text_lines(file.text_of_lines(span.start_line, span.end_line)))
        last = span.end_line


def _lines_around(file: IndexedFile, line: int) -> list[int]:
    """The lines that name the classes and the like around a line, the outermost first."""
    found: list[int] = []
    parent = file.units[enclosing(file.units, line)].parent
    while parent is not None:
        unit = file.units[parent]
        if unit.name and unit.kind is not UnitKind.SECTION:
            found.insert(0, _line_of_name(file, unit))
        parent = unit.parent
    return found


def _line_of_name(file: IndexedFile, unit: Unit) -> int:
    """The first line of a unit that has its name and is no comment, or its first line."""
    named = re.compile(rf"^(?!\s*(?:#|//|/?\*|--|;)).*\b{re.escape(unit.name.rpartition('.')[2])}\b")
    lines = text_lines(file.text_of(unit))
    return unit.start_line + next((number for number, text in enumerate(lines) if named.search(text)), 0)
