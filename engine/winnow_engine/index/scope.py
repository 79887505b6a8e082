"""Part of a workspace that a question is limited to: files and folders, also as globs, and what an expression matches.

Globs are gitignore's, with braces: `src/**/*.{ts,tsx}`, `*.py` at any depth, `!tests` for all but these. Expressions
have RE2's syntax and search line by line. RE2 takes time linear in the text, whatever an agent asks for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import re2
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from winnow_engine.core import Cancellation
from winnow_engine.errors import NothingMatchesError, PatternError, PositionError
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.lines import with_lf
from winnow_engine.index.units import enclosing
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question, Scope

_SECONDS = 10.0
_MOST_LINES = 100_000
_WILDCARD = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"\\\{([^{}]*)\\\}")
_ACROSS_LINES = re.compile(r"\\n|\n|\(\?[a-zA-Z]*s")  # such an expression may match several lines


@dataclass(frozen=True, slots=True)
class MatchingLines:
    """Lines that an expression matches, by unit, both in order. `complete` if all files were searched."""

    by_unit: dict[int, list[int]]
    complete: bool


def in_scope(question: Question, workspace: Workspace, cancellation: Cancellation) -> Question:
    """The question with the units that it is limited to. Raises PositionError, PatternError, NothingMatchesError."""
    if question.pattern:
        files = files_in(workspace, question.paths)
        found = matching_lines(workspace, files, question.pattern, cancellation)
        lines = np.array([lines[0] for lines in found.by_unit.values()], np.int64)
        return replace(question, scope=Scope(np.array(list(found.by_unit), np.int64), lines, found.complete))
    if question.paths:
        return replace(question, scope=Scope(workspace.units_of(files_in(workspace, question.paths))))
    return question


def files_in(workspace: Workspace, paths: Iterable[str]) -> list[int]:
    """Numbers of the files that some paths name, all without any. PositionError if one names no file."""
    paths = list(paths)
    wanted = [_files_of(workspace, path) for path in paths if not path.startswith("!")]
    found = set().union(*wanted) if wanted else set(range(len(workspace.files)))
    for path in paths:
        if path.startswith("!"):
            found.difference_update(_matching(workspace, path[1:]))
    return sorted(found)


def _files_of(workspace: Workspace, path: str) -> set[int]:
    if found := _matching(workspace, path):
        return found
    raise PositionError(f"no file of the workspace is {path} or lies in it")


def _matching(workspace: Workspace, path: str) -> set[int]:
    """Numbers of the files that a path or glob names from the workspace's top, or else from the top of each folder."""
    found = _named([file.path for file in workspace.files], path)
    return found or _named([file.local_path for file in workspace.files], path)


def _named(names: Sequence[str], path: str) -> set[int]:
    """The file or folder of that path, or else every file or folder whose path ends with it, or else a glob's matches.

    A `/` or `./` before it means the top. Brackets may stand for themselves.
    """
    folder, path = f"{path.strip('/')}/".removeprefix("./"), re.sub(r"^\./", "/", path)
    found = {n for n, name in enumerate(names) if f"{name}/".startswith(folder)}
    if not found and not path.startswith("/"):
        found = {n for n, name in enumerate(names) if f"/{folder}" in f"/{name}/"}
    for glob in (path, path.replace("[", "\\[")) if _WILDCARD.search(path) else ():
        if not found and (expression := _glob(glob)):
            found = {n for n, name in enumerate(names) if expression.search(name)}
    return found


def _glob(glob: str) -> re2._Regexp | None:
    try:
        text = GitIgnoreSpecPattern.pattern_to_regex(glob)[0]
        while text and (plain := _BRACES.sub(lambda found: f"(?:{found[1].replace(',', '|')})", text)) != text:
            text = plain
        return re2.compile(text, _options(multiline=False)) if text else None
    except (ValueError, re2.error):
        return None


def matching_lines(
    workspace: Workspace, files: Sequence[int], pattern: str, cancellation: Cancellation
) -> MatchingLines:
    """The lines of files that an expression matches; given up after 10 s and 100,000 lines. Raises PatternError."""
    expression, until = compiled(pattern), time.monotonic() + _SECONDS
    found, count, complete = dict[int, list[int]](), 0, True
    for number in files:
        cancellation.check()
        file, start = workspace.files[number], int(workspace.unit_starts[number])
        for line in _lines(file, expression):
            cancellation.check()
            found.setdefault(start + enclosing(file.units, line), []).append(line)
            count += 1
            if count >= _MOST_LINES or time.monotonic() > until:
                break
        complete = count < _MOST_LINES and time.monotonic() <= until
        if not complete:
            break
    if not found:
        reason = "case counts, unless it begins with (?i)" if complete else "the search was given up, name paths"
        raise NothingMatchesError(f"no line matches {pattern}: {reason}")
    return MatchingLines(found, complete)


def compiled(pattern: str) -> re2._Regexp:
    """The expression, which `^` and `$` bind to lines. PatternError if it is none."""
    try:
        return re2.compile(f"(?m){pattern}", _options(multiline=_ACROSS_LINES.search(pattern) is not None))
    except re2.error as error:
        reason = error.args[0] if error.args else "it is none"
        reason = (reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason).replace("(?m)", "", 1)
        raise PatternError(
            f"the pattern is no regular expression of RE2's: {reason}. It has no look-around and no back references"
        ) from error


def _options(*, multiline: bool) -> re2.Options:
    options = re2.Options()
    options.never_nl, options.log_errors = not multiline, False
    return options


def _lines(file: IndexedFile, expression: re2._Regexp) -> Iterator[int]:
    """Numbers of the lines of a file that an expression matches. A match of several lines counts for each."""
    data = with_lf(file.content.read()) if file.unit_count else b""
    line, counted_to, position = 1, 0, 0
    while position < len(data) and (match := expression.search(data, position)):
        first, last = match.start(), max(match.end() - 1, match.start())
        if first >= len(data):
            return  # after the end of the last line
        line, counted_to = line + data.count(b"\n", counted_to, first), first
        yield from range(line, line + data.count(b"\n", first, last) + 1)
        position = data.find(b"\n", last) + 1 or len(data)
