"""Documented functions: the first sentence of the documentation, and the lines it takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from winnow_engine.core import Unit
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.outline import parse
from winnow_engine.index.syntax import GrammarError
from winnow_engine.index.units import enclosing
from winnow_research.evaluation.haystack import Haystack, Place

_LEAST_BODY_LINES = 4
_WORDS = range(6, 41)
_MARKER = re.compile(r"^\s*(///?!?|//!|/\*+!?|\*+/?|#+)?\s?|\*+/\s*$")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n|\n\s*(?=[@\\]\w)|:\s*\n")
_LICENCE = re.compile(r"copyright|licen[cs]ed?\b|SPDX", re.IGNORECASE)
_NO_DESCRIPTION = re.compile(r"copyright|licen[cs]e|todo|fixme|eslint|deprecated|^@|see also|^see |overrid|:", re.I)

_MARKUP = (
    (re.compile(r"\{@\w+ ([^}]*)\}"), r"\1"),
    (re.compile(r"[@\\](?:c|p|a|ref) "), ""),
    (re.compile(r":\w+:`[~.]*([^`]+)`"), r"\1"),
    (re.compile(r"\[([^\]]+)\]\([^)]*\)"), r"\1"),
    (re.compile(r"</?\w+[^>]*>"), ""),
)


@dataclass(frozen=True)
class Described:
    """A function, the first sentence of its documentation, and the lines of the whole documentation."""

    place: Place
    sentence: str
    lines: frozenset[int]


def described(haystack: Haystack) -> Iterator[Described]:
    """The haystack's own functions whose first sentence is a fair question, in file order.

    The sentence does not name the function and occurs once in the workspace, and enough of the function remains
    without its documentation. The caller leaves out functions with a near-duplicate: that check is slow.
    """
    for file in haystack.own_files:
        for unit, text, lines in documentation(file):
            place = Place(file, unit)
            sentence = first_sentence(text, place.simple_name)
            if sentence and _fair(place, lines) and haystack.occurrences(sentence) == 1:
                yield Described(place, without_markup(sentence), lines)


def first_sentence(documentation: str, name: str) -> str | None:
    """The first sentence on one line, without the function's name in front (as Go has it).

    None if the sentence names the function, is very short or long, or does not describe anything.
    """
    sentence = " ".join(_SENTENCE_END.split(documentation.strip())[0].split())
    sentence = re.sub(rf"^{re.escape(name)}(\(\))?\s+(-\s+)?", "", sentence)
    if len(without_markup(sentence).split()) not in _WORDS or _NO_DESCRIPTION.search(sentence) or names(sentence, name):
        return None
    return sentence


def without_markup(sentence: str) -> str:
    """A sentence in plain words, without `{@link x}`, `@c x`, `:func:` roles, links and tags."""
    for pattern, plain in _MARKUP:
        sentence = pattern.sub(plain, sentence)
    return sentence


def names(sentence: str, name: str) -> bool:
    """Whether a sentence gives a name away: as a word, or, if it is long, with or without spaces in it."""
    bare = name.strip("_").lower()
    if re.search(rf"\b{re.escape(bare)}\b", sentence.lower()):
        return True
    letters = re.sub(r"[\W_]", "", bare)
    return len(letters) >= 5 and letters in re.sub(r"[\W_]", "", sentence.lower())


def _fair(place: Place, lines: frozenset[int]) -> bool:
    unit = place.unit
    rest = [line for number, line in enumerate(place.text.splitlines(), unit.start_line) if number not in lines]
    code = [line for line in rest if line.strip()]
    return place.is_function and len(code) >= _LEAST_BODY_LINES


def head(file: IndexedFile) -> tuple[str, frozenset[int]]:
    """The documentation of a whole file, and its lines; empty if it begins with none, or with a licence."""
    try:
        if file.path.endswith(".py"):
            first = ast.parse(file.data).body[0]
            found = [(n, "") for n in range(first.lineno, (first.end_lineno or first.lineno) + 1)]
            text = ast.get_docstring(ast.parse(file.data)) or ""
        else:
            found = list(_comment_lines(file, file.units[0], parse(file.path, file.data).outline.comments))
            text = "" if file.units[0].name else "\n".join(_MARKER.sub("", line) for _, line in found)
    except (SyntaxError, ValueError, IndexError, GrammarError):
        return "", frozenset()
    return ("", frozenset()) if _LICENCE.search(text) else (text, frozenset(number for number, _ in found))


def documentation(file: IndexedFile) -> Iterator[tuple[int, str, frozenset[int]]]:
    """(number of the unit, text, its lines) for each documented function of a file."""
    if file.path.endswith(".py"):
        return _docstrings(file)
    return _leading_comments(file)


def _docstrings(file: IndexedFile) -> Iterator[tuple[int, str, frozenset[int]]]:
    try:
        tree = ast.parse(file.data)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text, first = ast.get_docstring(node), node.body[0]
        unit = enclosing(file.units, node.lineno)
        if text and Place(file, unit).simple_name == node.name:
            yield unit, text, frozenset(range(first.lineno, (first.end_lineno or first.lineno) + 1))


def _leading_comments(file: IndexedFile) -> Iterator[tuple[int, str, frozenset[int]]]:
    try:
        comments = parse(file.path, file.data).outline.comments
    except GrammarError:
        return
    for number, unit in enumerate(file.units):
        if unit.name and unit.start_line in comments:
            lines = list(_comment_lines(file, unit, comments))
            if lines:
                text = "\n".join(_MARKER.sub("", line) for _, line in lines)
                yield number, text, frozenset(line for line, _ in lines)


def _comment_lines(file: IndexedFile, unit: Unit, comments: set[int]) -> Iterator[tuple[int, str]]:
    """The comment lines a unit starts with; attributes and decorators among them stay."""
    for number, line in enumerate(file.text_of(unit).splitlines(), unit.start_line):
        if number not in comments:
            return
        if line.strip() and not line.lstrip().startswith(("#[", "@")):
            yield number, line
