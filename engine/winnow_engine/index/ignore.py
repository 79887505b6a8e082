"""Rules of gitignore(5), in git's files and in `.winnowignore`, which has the same syntax.

The two form separate chains. In each, deeper files win over shallower ones and later lines over earlier ones; git's
chain ends with `.git/info/exclude` and the file that git's configuration names. Winnow's chain wins over git's. As in
git, a repository within another has a chain of its own, and tracked files count.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from winnow_engine.git.repository import directories, top_above
from winnow_engine.git.working_trees import IgnoreSettings, TrackedFiles, ignore_settings, is_repository
from winnow_engine.platform import read_regular

RULE_FILES = frozenset({".gitignore", ".winnowignore", ".git"})  # what a directory has that says what is ignored in it
_MAX_BYTES = 1_000_000  # of a pattern file; a larger file is not one
_FEW = 8  # patterns of a file that are matched sooner one by one than joined, which `re` has to compile

# pathspec's expressions for all files and for all directories are meant to be searched for; these match whole paths.
_SHORTENED = {".": ".+", "(?P<ps_d>/)": ".+/"}

_FLAGS = 0, re.IGNORECASE | re.ASCII  # for `any_case`: git knows the case of ASCII letters only
_ANYWHERE = "(?:.+/)?"  # how pathspec's expressions begin for names at any depth
_STAR, _STARS = "[^/]*", "(?:/.+)?"  # pathspec's translations of `*` and of `/**` before another segment


@dataclass(frozen=True, slots=True)
class Pattern:
    """A gitignore pattern for paths below `base`, which ends with a slash. `quoted` names it for messages."""

    base: str
    regex: re.Pattern[str]
    ignores: bool
    quoted: str

    def matches(self, path: str, is_dir: bool) -> bool:
        """True if it matches this absolute path itself; matching a directory above does not count."""
        return self.regex.fullmatch(path[len(self.base) :] + "/" * is_dir) is not None


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns of one file, strongest first; `joined`, of many, matches what any of them does."""

    found: tuple[Pattern, ...]
    joined: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """Patterns that apply in one directory, strongest first.

    `within` ignores the directory as a whole: what is tracked counts all the same. `entered` are such directories.
    """

    winnow: tuple[Patterns, ...] = ()
    git: tuple[Patterns, ...] = ()
    settings: IgnoreSettings | None = None
    tracked: TrackedFiles | None = None
    within: Pattern | None = None
    entered: dict[str, Pattern] = field(default_factory=dict, compare=False)

    def below(self, directory: Path, root: Path) -> IgnoreRules:
        """Rules inside a directory, with the pattern files found there. A repository's are its own."""
        outer = self.of_repository(directory, root) if self.settings is None or is_repository(directory) else self
        own = pattern_file(directory / ".winnowignore", directory, root)
        any_case = outer.settings is not None and outer.settings.any_case
        git = pattern_file(directory / ".gitignore", directory, root, any_case)
        return replace(outer, winnow=own + self.winnow, git=git + outer.git)

    def of_repository(self, top: Path, root: Path) -> IgnoreRules:
        """Rules of the repository at `top`, less those of pattern files in the working tree."""
        settings = ignore_settings(top, self.settings)
        files = directories(top).shared / "info" / "exclude", settings.excludes
        git = chain.from_iterable(pattern_file(file, top, root, settings.any_case) for file in files)
        return IgnoreRules(self.winnow, tuple(git), settings, TrackedFiles(top, settings.any_case))

    def ignoring(self, path: str, is_dir: bool) -> Pattern | None:
        """The pattern by which git ignores an absolute path that it does not track, or None."""
        pattern = self.within or deciding(self.git, path, is_dir)
        if pattern is None or not pattern.ignores:
            return None
        if self.tracked is None or not self.tracked.holds(path):
            return pattern
        if is_dir:
            self.entered[path] = pattern
        return None

    def inside(self, directory: str) -> IgnoreRules:
        """Rules for what lies in a directory before those that it adds."""
        pattern = self.entered.get(directory)
        return self if pattern is None else replace(self, within=pattern)


def deciding(files: Sequence[Patterns], path: str, is_dir: bool) -> Pattern | None:
    """The strongest pattern that matches an absolute path, or None."""
    for file in files:
        if file.joined is None or file.joined.fullmatch(path[len(file.found[0].base) :] + "/" * is_dir):
            for pattern in file.found:
                if pattern.matches(path, is_dir):
                    return pattern
    return None


def rules_above(root: Path) -> IgnoreRules:
    """Rules from outside of a workspace: the user's, and those of its parents within its repository."""
    top = top_above(root)
    if top == root:
        return IgnoreRules()
    if top is None:
        settings = ignore_settings(root)
        return IgnoreRules(git=pattern_file(settings.excludes, root, root, settings.any_case), settings=settings)
    rules = IgnoreRules()
    for folder in reversed(root.parents[: root.parents.index(top) + 1]):
        rules = rules.below(folder, root)
    return rules


def pattern_file(path: Path, base: Path, root: Path, any_case: bool = False) -> tuple[Patterns, ...]:
    """Patterns of a file, if it has any; none if it is not a readable regular file."""
    try:
        text = read_regular(path, _MAX_BYTES).decode("utf-8-sig", "surrogateescape")
    except OSError:
        return ()
    name = path.relative_to(root) if path.is_relative_to(root) else path
    return patterns(text.split("\n"), base, name.as_posix(), any_case)


def patterns(lines: Sequence[str], base: Path, origin: str, any_case: bool = False) -> tuple[Patterns, ...]:
    """Patterns in these lines, if there are any. As in git, an invalid line matches nothing."""
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # about `[[]`, which is valid
        found = tuple(_patterns(lines, f"{base.as_posix().rstrip('/')}/", origin, any_case))[::-1]
        joined = _joined([one.regex.pattern for one in found], any_case) if len(found) > _FEW else None
        return (Patterns(found, joined),) if found else ()


def _joined(regexes: Sequence[str], any_case: bool) -> re.Pattern[str]:
    """An expression for what any of these matches. It tries the beginnings of a path once for all."""
    parts: dict[bool, list[str]] = {True: [], False: []}
    for text in (regex.replace("(?P<ps_d>", "(?:") for regex in regexes):
        parts[text.startswith(_ANYWHERE)].append(f"(?:{text.removeprefix(_ANYWHERE)})")
    joined = (f"{_ANYWHERE * anywhere}(?:{'|'.join(part)})" for anywhere, part in parts.items() if part)
    return re.compile("|".join(joined), _FLAGS[any_case])


def _patterns(lines: Sequence[str], base: str, origin: str, any_case: bool) -> Iterator[Pattern]:
    for number, line in enumerate(lines, start=1):
        text = line.removesuffix("\r")
        found = _compiled(text, any_case)
        if found is not None:
            regex, ignores = found
            yield Pattern(base, regex, ignores, f"{text.strip()!r} ({origin}:{number})")


def _compiled(line: str, any_case: bool) -> tuple[re.Pattern[str], bool] | None:
    """A line's expression, and True if it ignores; None for a comment or an invalid pattern."""
    try:
        found = GitIgnoreSpecPattern(_within(line))
    except (ValueError, re.error):
        return None
    if found.regex is None:
        return None
    return re.compile(_first_matches(found.regex.pattern), _FLAGS[any_case]), bool(found.include)


def _first_matches(regex: str) -> str:
    """The same regular expression in linear time: each `*` and `**` but the last keeps its first match.

    If a glob's first match fails, all others do. pathspec's own expression takes 18 s to reject 60 times `a` for eight
    times `*a` and a `b`.
    """
    head, *parts = _SHORTENED.get(regex, regex).split(_STAR)
    for index, part in enumerate(parts):
        within_segment = index < len(parts) - 1 and not re.search(r"[/(]", part.replace("[^/]", ""))
        head += f"(?>{_STAR}?{part})" if within_segment else _STAR + part
    head, *parts = head.split(_STARS)
    middle = "".join(f"(?>(?:/.+?)?{part}(?=/))" for part in parts[:-1])
    return head + middle + "".join(_STARS + part for part in parts[-1:])


def _within(line: str) -> str:
    """`a/**` as `a/**/*`: pathspec's regular expression for the former matches `a` itself as well."""
    body = line.rstrip().rstrip("/")
    return f"{body}/*{'/' * line.rstrip().endswith('/')}" if body.endswith("/**") else line
