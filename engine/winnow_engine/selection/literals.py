"""Text that a question takes from code: a flag, an environment variable, a key, a route, the message of an error.

Code that has it literally is the answer, whatever other code has the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

import numpy as np

from winnow_engine.core import UnitKind
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.overview_words import says_nothing_else

_MOST, _MOST_SEARCHED = 4, 200  # units that have a text: of more, none is meant; units that are read
_FEWEST_WORDS, _FEWEST_LETTERS = 4, 10  # of a message; two words are enough beside a placeholder
_PROSE = [list(UnitKind).index(kind) for kind in (UnitKind.SECTION, UnitKind.BLOCK)]
_TOKEN = re.compile(
    r"(?<![\w`\"'-])[`\"']?((?:--?|[/.])?\w[\w{}<>$:-]*(?:[./]+[\w{}<>$:-]+)*)[`\"']?(?![\w-])", re.ASCII
)
_IS_LITERAL = re.compile(r"--?\w{3}|[/.]\w|\w[-_./:]+\w")
_HYPHENATED = re.compile(r"[a-z]+(?:-[a-z]+)+")  # perhaps words of prose
_ROLE = re.compile(
    r"(?i)\b(?:env(?:ironment)?(?: var(?:iable)?)?s?|flag|switch|option|argument|header|route|endpoint|key|setting"
    r"|GET|POST|PUT|PATCH|DELETE)\b"
)
_PLACEHOLDER = re.compile(
    r"%[-+ #0]*\d*(?:\.\d+)?(?:l{0,2}[diux]|[sdvqwfcrp@])|[$#]?\{[^{}]*\}|\$\w+|<[\w -]+>|(?<=/):\w+"
)
_VALUE = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|(?<![\w%])[\w./-]*\d[\w./-]*")  # of a placeholder in what was printed
_QUOTED = re.compile(r"^\s*([\"'`])(.*)\1\s*$", re.DOTALL)
_STRING = re.compile(r"(?<![\w\"'`])[A-Za-z@$]{0,2}[\"'`](?![\"'`])")  # its beginning; not of a docstring


def flag_names(text: str) -> list[str]:
    """Names that code gives the flag which a text is: `dry_run`, `dryRun` and `DryRun` for `--dry-run`."""
    first, *others = (re.fullmatch(r"\W*--?([A-Za-z][\w-]+)\W*", text) or ("", ""))[1].split("-")
    titles = "".join(word[:1].upper() + word[1:] for word in others)
    return ["_".join([first, *others]), first + titles, first.title() + titles] if others else []


def having_literal(text: str, workspace: Workspace) -> list[int]:
    """The units of code that have the one flag, variable, key or route that a text is about, at most four.

    What is defined is none of these. Those with a string that begins with it go first, then code before data.
    """
    tokens = [token for token in _TOKEN.findall(text) if _IS_LITERAL.search(token)]
    alone = len(tokens) == 1 and says_nothing_else(_ROLE.sub("", text.replace(tokens[0], " ")))
    if not alone or workspace.symbols.defining(tokens[0]):
        return []
    name, whole = tokens[0].lstrip("-"), _pattern(tokens[0])
    body = rf"(?:--?)?{_pattern(name)}" if tokens[0].startswith("-") else whole  # libraries for options add the dashes
    quoted, plain = re.compile(rf"(?<![\"'])[\"']{body}(?![\w-])"), re.compile(rf"(?<![\w-]){whole}(?![\w-])")
    found = [_code_with(name, quoted.search, workspace)]
    if not _HYPHENATED.fullmatch(tokens[0]):
        found.append(_code_with(name, plain.search, workspace))
    defining = workspace.file_table.define
    of_code = ([unit for unit in units if defining[workspace.files_of([unit])[0]]] for units in found)
    return _few(next(filter(None, (*of_code, *found)), []))


def having_message(text: str, workspace: Workspace) -> list[int]:
    """The units of code with a string that holds a text, whatever stands for its placeholders, at most four."""
    text, found = _QUOTED.sub(r"\2", text).strip().rstrip(".!"), list[int]()
    if text.endswith("?"):
        return []
    for asked in dict.fromkeys((text, _VALUE.sub("%s", text))):
        parts = [" ".join(part.split()) for part in _PLACEHOLDER.split(asked)]
        said = " ".join(filter(None, parts))
        enough = len(said.split()) >= (_FEWEST_WORDS if len(parts) == 1 else 2)
        if enough and sum(map(str.isalpha, said)) >= _FEWEST_LETTERS:
            found = found or _few(_code_with(said, partial(_has_string, parts), workspace))
    return found


def _pattern(token: str) -> str:
    return r"[^\s/]*".join(map(re.escape, filter(None, _PLACEHOLDER.split(token))))


def _has_string(parts: Sequence[str], code: str) -> bool:
    """True if a line has these parts in order, in any case, behind the beginning of a string."""
    lines = ((_STRING.search(line), line) for line in code.splitlines())
    return any(start and _in_order(parts, line[start.end() :].lower()) for start, line in lines)


def _in_order(parts: Sequence[str], text: str) -> bool:
    at = 0
    for part in parts:
        if (place := text.find(part.lower(), at)) < 0:
            return False
        at = place + len(part)
    return True


def _code_with(text: str, has: Callable[[str], object], workspace: Workspace) -> list[int]:
    """The units of code that have all words of a text, and of whose code `has` is true; tests only without others."""
    units = workspace.lexical.having_all(text)
    units = units[~np.isin(workspace.unit_kinds[units], _PROSE)]
    if len(units) > _MOST_SEARCHED:
        return []
    tests = workspace.file_table.are_tests[workspace.files_of(units)]
    return _having(has, units[~tests].tolist(), workspace) or _having(has, units[tests].tolist(), workspace)


def _having(has: Callable[[str], object], units: Sequence[int], workspace: Workspace) -> list[int]:
    found = list[int]()
    for number, of_file in groupby(units, key=lambda unit: workspace.files_of([unit])[0]):
        inside, file, start = [*of_file], workspace.files[number], workspace.unit_starts[number]
        texts = file.texts([file.units[unit - start] for unit in inside])
        found += [unit for unit, text in zip(inside, texts, strict=True) if has(text)]
    return found


def _few(units: list[int]) -> list[int]:
    return units if len(units) <= _MOST else []
