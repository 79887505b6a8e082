"""Text that a question takes from code: a flag, an environment variable, a key, a route, the message of an error.

Code that has it literally is the answer, whatever other code has the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import UnitKind
from winnow_engine.index.lines import text_lines
from winnow_engine.index.name_rules import names_tests
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.candidates import best
from winnow_engine.selection.overview_words import says_nothing_else

_MOST, _MOST_SEARCHED = 4, 200  # units that have a text: of more, none is meant; units that are read
_MOST_LIKELY = 64  # units that may have a message
_FEWEST_WORDS, _FEWEST_IN_A_ROW, _LEAST_SHARE = 4, 3, 0.6  # of a message
_PROSE = [list(UnitKind).index(kind) for kind in (UnitKind.SECTION, UnitKind.BLOCK)]
_TOKEN = re.compile(
    r"(?<![\w`\"'-])[`\"']?((?:--?|[/.])?\w[\w{}<>$:-]*(?:[./]+[\w{}<>$:-]+)*)[`\"']?(?![\w-])", re.ASCII
)
_IS_LITERAL = re.compile(r"--?\w{3}|[/.]\w|\w[-_./:]+\w")
_JOINED = re.compile(r"[A-Z]?[a-z]+(?:-[a-z]+)+|[A-Za-z]+(?:/[A-Za-z]+)+")  # prose, or a whole string
_ROLE = re.compile(
    r"(?i)\b(?:env(?:ironment)?(?: var(?:iable)?)?s?|flag|switch|option|argument|header|route|endpoint|key|setting"
    r"|GET|POST|PUT|PATCH|DELETE)\b"
)
_PLACEHOLDER = re.compile(
    r"%[-+ #0]*\d*(?:\.\d+)?(?:l{0,2}[diux]|[sdvqwfcrp@])|[$#]?\{[^{}]*\}|\$\w+|<[\w -]+>|(?<=/):\w+"
)
_FILLED = re.compile(r"[%$<>{}'\"`:=]|\b\d")  # a message with placeholders, or with what stood for them
_QUESTION = re.compile(r"(?i)\W*(?:how|what|where|which|why|who|when|explain|show|find|list)\b|.*\?\s*$")
_WORD = re.compile(r"[^\W\d]\w*")
_LITERAL = re.compile(
    r"(?<![\w\"'`])[A-Za-z@$]{0,2}"
    r"(?:\"((?:[^\"\\]|\\.){1,400})\"(?!\")|'((?:[^'\\]|\\.){1,400})'(?!')|`((?:[^`\\]|\\.){1,400})`(?!`))"
)
_BROKEN = re.compile(  # one string on two lines
    r"([\"'`])[ \t]*(?:[+.&\\]+[ \t]*)?\r?\n[ \t]*(?:[+.&]+[ \t]*)?[A-Za-z@$]{0,2}\1"
)
_ESCAPE = re.compile(r"\\[a-z]")


def flag_names(text: str) -> list[str]:
    """Names that code gives the flag which a text is: `dry_run`, `dryRun` and `DryRun` for `--dry-run`."""
    first, *others = (re.fullmatch(r"\W*--?([A-Za-z][\w-]+)\W*", text) or ("", ""))[1].split("-")
    titles = "".join(word[:1].upper() + word[1:] for word in others)
    return ["_".join([first, *others]), first + titles, first.title() + titles] if others else []


def having_literal(text: str, workspace: Workspace) -> list[int]:
    """The units of code that have the one flag, variable, key or route that a text is about, at most four.

    A name that is defined is left to the rule for definitions. Strings that begin so go first, then code before data.
    """
    tokens = [token for token in _TOKEN.findall(text) if _IS_LITERAL.search(token)]
    alone = len(tokens) == 1 and says_nothing_else(_ROLE.sub("", text.replace(tokens[0], " ")))
    if not alone or workspace.symbols.defining(tokens[0]):
        return []
    name, whole = tokens[0].lstrip("-"), _pattern(tokens[0])
    body = rf"(?:--?)?{_pattern(name)}" if tokens[0].startswith("-") else whole  # libraries for options add the dashes
    patterns = [rf"(?<![\"'])[\"']{body}(?![\w-])", rf"(?<![\w-]){whole}(?![\w-])"]
    if _JOINED.fullmatch(tokens[0]) and not _ROLE.search(text):
        patterns = [rf"(?<![\"'])[\"']/?{whole}/?[\"']"]
    units = _outside_prose(workspace.lexical.having_all(name), workspace).tolist()
    likely = [*_codes(units if len(units) <= _MOST_SEARCHED else (), workspace)]
    found = [[unit for unit, code in likely if re.search(pattern, code)] for pattern in patterns]
    found = [outside_tests(units, workspace) or units for units in found]
    of_code = ([n for n in units if workspace.file_table.define[workspace.files_of([n])[0]]] for units in found)
    return _few(next(filter(None, (*of_code, *found)), []))


def having_message(text: str, workspace: Workspace) -> list[int]:
    """The units of code with the strings that most of a text is made of, whatever stands between them, at most four.

    Tests that are not meant have at least four words of it.
    """
    said = _WORD.findall(_PLACEHOLDER.sub(" ", text.lower()))
    if _QUESTION.match(text) or len(said) < (2 if _FILLED.search(text) else _FEWEST_WORDS):
        return []
    likely = _outside_prose(np.sort(best(workspace.lexical.score(text), _MOST_LIKELY)), workspace).tolist()
    counts = {unit: count for unit, code in _codes(likely, workspace) if (count := _told(code, said))}
    least = 0 if means_tests(text, workspace) else _FEWEST_WORDS
    found = outside_tests([*counts], workspace) or [unit for unit in counts if counts[unit] >= least]
    most = max((counts[unit] for unit in found), default=0)
    return _few([unit for unit in found if counts[unit] == most])


def _told(code: str, said: Sequence[str]) -> int:
    """Number of the words of a text that strings on neighbouring lines have in that order; 0 for too few.

    Four words of one string are enough, else it takes three fifths of all words.
    """
    text, most, told, longest, at = _spaced(said), 0, 0, 0, 0
    for line in _BROKEN.sub("", code).splitlines():
        before = told
        for words in _strings(line):
            if text in _spaced(words):
                return len(said)
            if (place := text.find(_spaced(words), at)) >= 0:
                told, longest, at = told + len(words), max(longest, len(words)), place + len(_spaced(words)) - 1
        if longest >= _FEWEST_WORDS or (longest > 1 and told >= _LEAST_SHARE * len(said)):
            most = max(most, told)
        if told == before:
            told = longest = at = 0
    return most


def line_with_message(text: str, code: str) -> int:
    """Index of the line of code whose string has the most words of a text in a row, of three or more; else 0."""
    said, lines = _spaced(_WORD.findall(text.lower())), text_lines(code)
    told = [max((len(words) for words in _strings(line) if _spaced(words) in said), default=0) for line in lines]
    return told.index(max(told)) if max(told, default=0) >= _FEWEST_IN_A_ROW else 0


def _strings(line: str) -> Iterator[list[str]]:
    """The words of each string on a line of code, apart where placeholders stand."""
    for literal in _LITERAL.finditer(line):
        for part in _PLACEHOLDER.split(_ESCAPE.sub(" ", literal[1] or literal[2] or literal[3] or "")):
            if words := _WORD.findall(part.lower()):
                yield words


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _pattern(token: str) -> str:
    first, *others = map(re.escape, filter(None, _PLACEHOLDER.split(token)))
    return "".join([first, *(rf"(?>[^\s/]{{0,99}}?{part})" for part in others)])  # in linear time


def _outside_prose(units: NDArray[np.int64], workspace: Workspace) -> NDArray[np.int64]:
    return units[~np.isin(workspace.unit_kinds[units], _PROSE)]


def means_tests(text: str, workspace: Workspace) -> bool:
    """True if words of a text name tests or examples, or no other file defines anything."""
    table = workspace.file_table
    return wants_tests(text, workspace) or bool(table.are_tests[table.define].all())


def wants_tests(text: str, workspace: Workspace) -> bool:
    """True if words of a text name tests or examples. Names of other code do not, such as `test_client`."""
    for name in workspace.symbols.asked(text).certain if names_tests(text) else ():
        if not (name.isalpha() and name.islower()) and outside_tests(workspace.symbols.defining(name), workspace):
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", text)
    return names_tests(text)


def outside_tests(units: Sequence[int], workspace: Workspace) -> list[int]:
    """The units that are not of tests, in order; those of copies that a build wrote only if there are no others."""
    found = np.array(units, np.int64)
    ranks = (2 * workspace.file_table.are_tests + workspace.are_copies)[workspace.files_of(found)]
    return list[int](found[ranks == ranks.min(initial=1)].tolist())


def _codes(units: Sequence[int], workspace: Workspace) -> Iterator[tuple[int, str]]:
    """Units, in order, with their code. Each file is read once."""
    for number, of_file in groupby(units, key=lambda unit: workspace.files_of([unit])[0]):
        inside, file, start = [*of_file], workspace.files[number], workspace.unit_starts[number]
        yield from zip(inside, file.texts([file.units[unit - start] for unit in inside]), strict=True)


def _few(units: list[int]) -> list[int]:
    return units if len(units) <= _MOST else []
