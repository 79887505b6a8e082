"""Document a definition: the target writes the words, and they are put where the language wants them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from winnow_engine.core import DEFINITIONS
from winnow_engine.editing.changes import FileEdit, LineEdit, inserting
from winnow_engine.editing.edited_lines import fenced
from winnow_engine.editing.reply import indentation
from winnow_engine.editing.request import EditTask, WantedEdit
from winnow_engine.errors import NoCodeError, NotApplicableError
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.languages.base import DocComment, Language
from winnow_engine.index.lines import text_lines
from winnow_engine.index.outline import Definition, ParsedFile, parse_or_plain
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question

_STRING = re.compile(r"""\s*[rRuUbB]{0,2}["']""")
_DOCSTRING = re.compile(r'("""|\'\'\')(.*?)\1', re.DOTALL)
_MARK = re.compile(r"\s*(///?|/\*\*?|\*/|\*|#|---?)(?!\[) ?")
_WIDTH = 88  # columns
_ABOUT_AS_LONG = "word " * 120
_MOST_SHOWN = 120  # lines


@dataclass(frozen=True)
class _Place:
    line: int
    indent: str
    style: DocComment


def documenting(workspace: Workspace, request: WantedEdit) -> EditTask:
    """The task to document the definition around the cursor. NotApplicableError if it cannot be, or is documented."""
    cursor = workspace.settled(request.cursor)
    file = workspace.file(cursor.path)
    file.check_line(cursor.start_line)
    language = file.language
    if language is None or language.documentation is None:
        raise NotApplicableError(f"Winnow does not know how {file.path} is documented: document it by hand")
    parsed = parse_or_plain(file.local_path, file.data)
    definition = _around(parsed, cursor.start_line)
    place = _place(file, parsed, definition, language.documentation)
    last = min(definition.last, definition.first + _MOST_SHOWN)
    code = fenced(text_lines(file.text_of_lines(definition.first, last)), language)
    question = Question(f"Document `{definition.name}`: what it does, for whom calls it.", cursor)
    return EditTask(
        f"Document `{definition.name}`",
        question,
        (type(cursor)(file.path, definition.first, last),),
        f"{file.path}\n{code}\n\n{_instruction(definition, language)}",
        _ABOUT_AS_LONG,
        lambda words: FileEdit(file.path, file.data, (_edit(file.data, place, words, definition),)),
    )


def _instruction(definition: Definition, language: Language) -> str:
    name = definition.name.rpartition(".")[2]
    return (
        f"Write the documentation of `{name}` for {language.name}: one sentence that says what it does, then what its "
        "parameters, result and errors are where names do not tell. Be brief and exact, and say nothing of other code. "
        "Answer with the words of the documentation alone, without code and without comment marks."
    )


def _around(parsed: ParsedFile, line: int) -> Definition:
    found = [one for one in parsed.outline.definitions if one.kind in DEFINITIONS and one.first <= line <= one.last]
    if not found:
        raise NotApplicableError("put the cursor on the function, method or class to document")
    return found[-1]


def _place(file: IndexedFile, parsed: ParsedFile, definition: Definition, style: DocComment) -> _Place:
    line = _body(parsed, definition) if style.inside else definition.first
    text = file.text_of_lines(line, line)
    has = _STRING.match(text) is not None if style.inside else line in parsed.outline.comments
    if has and not text.strip().startswith("#["):
        raise NotApplicableError(f"`{definition.name}` is documented: to have it written anew, delete that first")
    return _Place(line, indentation(text), style)


def _body(parsed: ParsedFile, definition: Definition) -> int:
    """The line on which the body of a definition begins; NotApplicableError if that is not the body's own."""
    assert parsed.syntax is not None
    for node in parsed.syntax.bodies():
        row, column = node.start_point
        assert node.parent is not None
        if definition.first <= node.parent.start_point.row + 1 <= definition.last:
            if parsed.text[node.start_byte - column : node.start_byte].strip():
                break
            return int(row) + 1
    raise NotApplicableError(f"the body of `{definition.name}` has no line of its own: give it one first")


def _edit(data: bytes, place: _Place, words: str, definition: Definition) -> LineEdit:
    style = place.style
    lines = _wrapped(_words(words, definition), _WIDTH - len(place.indent) - len(style.prefix or f"r{style.opening}"))
    if not lines:
        raise NoCodeError("no words")
    return inserting(data, place.line, [f"{place.indent}{line}".rstrip() for line in _marked(lines, style)])


def _words(text: str, definition: Definition) -> str:
    """The documentation in what a model wrote: a docstring or the comment before the code if it wrote code anyway."""
    found = _DOCSTRING.search(text)
    if found and (_STRING.match(text) or _is_code(text, definition)):
        first, _, rest = found[2].strip().partition("\n")
        return f"{first}\n{textwrap.dedent(rest)}".rstrip()
    lines = text_lines(text.strip())
    marks = [_MARK.match(line) for line in lines]
    if lines and marks[0]:
        length = next((number for number, mark in enumerate(marks) if not mark), len(lines))
        lines = [line[mark.end() :] for line, mark in zip(lines[:length], marks, strict=False) if mark]
    elif _is_code(text, definition):
        raise NoCodeError("code without documentation")
    return "\n".join(line.removesuffix("*/").rstrip() for line in lines).strip()


def _is_code(text: str, definition: Definition) -> bool:
    name = re.escape(definition.name.rpartition(".")[2])
    return re.search(rf"^\s*(?!{name})\w[\w ]*\b{name}\s*[(:{{]", text, re.MULTILINE) is not None


def _wrapped(text: str, width: int) -> list[str]:
    """The lines, those that are too long wrapped; a continued line of a list is indented as the list is."""
    lines: list[str] = []
    for line in text_lines(text):
        indent = indentation(line)
        lines += textwrap.wrap(line.strip(), width, initial_indent=indent, subsequent_indent=indent) or [""]
    return lines


def _marked(lines: Sequence[str], style: DocComment) -> Iterator[str]:
    """The lines as a comment or string of the language; nothing in them may end it."""
    if style.inside:
        yield from _docstring([line.replace(style.closing, "'''") for line in lines], style)
        return
    yield from filter(None, (style.opening,))
    yield from (f"{style.prefix}{line.replace('*/', '* /') if '*/' in style.closing else line}" for line in lines)
    yield from filter(None, (style.closing,))


def _docstring(lines: Sequence[str], style: DocComment) -> Iterator[str]:
    raw = "r" if any("\\" in line for line in lines) else ""  # a backslash in it is a backslash
    opening = f"{raw}{style.opening}"
    first, *rest = lines
    last = lines[-1] + (" " if lines[-1].endswith(('"', "\\")) else "")
    if not rest:
        yield f"{opening}{last}{style.closing}"
        return
    yield f"{opening}{first}"
    yield from rest
    yield style.closing
