"""Overview questions: what a project does, how it starts, how it is built and tested, what its parts are.

No score finds the code that answers them. README, manifest, entry points and main configuration do, by their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Cancellation, UnitKind
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question
from winnow_engine.selection.overview_words import names_nothing_else, names_project, topics_of

_MOST_FILES, _MOST_UNITS = 3, 4  # of one kind, and of one file
_MOST_CENTRAL, _MOST_DEFINING = 2, 1000  # symbols, and files looked at
_DISTINCT = re.compile(r"^_*[A-Z].*[a-z]|[a-z\d][A-Z_][a-z]")  # `range` is used by all, but means another
_SHARE, _MOST_TOKENS = 0.6, 1500  # of a budget; scores choose the rest
_NAMES_CODE = re.compile(r"[`_{}=<>#@$\d]|\w\(|::|\w\.\w|[a-z][A-Z]")
_CODE = r"(?:[cm]?[jt]sx?|py|rs|go|java|kts?|scala|c|cc|cpp|cxx|rb|php|cs|swift|dart|exs?|hs|zig|lua|pl|r|jl|ml|elm)"
_MANIFESTS = r"""package\.json pyproject\.toml cargo\.toml go\.mod pom\.xml build\.gradle(\.kts)? cmakelists\.txt
    meson\.build setup\.(py|cfg) composer\.json gemfile \S+\.(gemspec|csproj|cabal|opam) mix\.exs build\.zig
    pubspec\.yaml package\.swift project\.toml dune-project elm\.json description"""
_CONFIGURATION = r"""(gnu)?makefile justfile taskfile\.ya?ml tox\.ini noxfile\.py contributing\.\w+ dockerfile
    (docker-)?compose\.ya?ml tsconfig\.json settings\.py config\.(py|[jt]s|toml|ya?ml) rakefile"""

_MARKUP = re.compile(r"<[^>]*>|!?\[[^\]]*\](\([^)]*\))*|\]?\(https?:[^)]*\)")  # logos and badges, which say nothing
_PATH = re.compile(r"[\w@-][\w@./-]*|\.[\w@./-]+")
_IN_MANIFEST = {
    "purpose": re.compile(r"\bdescription\b"),
    "start": re.compile(r"\b(main|bin|exports|module|entry_points|mainClass)\b|scripts\]"),
    "build": re.compile(r"\b(scripts|test|build)\b|build-system|\[tool\."),
    "parts": re.compile(r"\b(workspaces?|members|packages|modules?)\b"),
}
_TESTS = re.compile(r"\b((py|vi|unit)?tests?|jest|mocha|tox|nox|rspec|phpunit|junit)\b")
_ABOUT_TESTS = re.compile(r"test|prueb|тест|テスト|测试|測試")


class _Kind(NamedTuple):
    """Files of an overview, by their path in lower case, and the order of a file's units."""

    path: re.Pattern[str]
    is_first: Callable[[UnitKind, str, set[str]], bool]


def _named(names: str) -> re.Pattern[str]:
    return re.compile(rf"(?:.*/)?(?:{'|'.join(names.split())})")


_KINDS = {
    "readme": _Kind(_named(r"readme(\.\w+)?"), lambda _, name, topics: bool(topics & set(topics_of(name)))),
    "manifest": _Kind(_named(_MANIFESTS), lambda *_: False),
    "entry": _Kind(
        _named(rf"(__main__|main|index|app|cli|manage|server|program|lib)\.{_CODE}"),
        lambda kind, name, _: (
            kind is not UnitKind.IMPORTS and name.rpartition(".")[2].lower() in ("main", "run", "cli")
        ),
    ),
    "configuration": _Kind(
        re.compile(
            rf"{_named(_CONFIGURATION).pattern}|(?:.*/)?\.github/workflows/[^/]+\.ya?ml|(?:.*/)?\.gitlab-ci\.yml"
        ),
        lambda *_: False,
    ),
    "parts": _Kind(
        _named(rf"(__init__|mod|lib|index|doc|package-info)\.{_CODE} (architecture|design|structure)\.\w+"),
        lambda kind, *_: kind is not UnitKind.IMPORTS,
    ),
}
_ORDER = {
    "purpose": ("readme", "manifest", "entry"),
    "start": ("entry", "manifest", "readme"),
    "build": ("manifest", "configuration", "readme"),
    "parts": ("readme", "parts", "manifest", "entry"),
}


def asks_for_overview(question: Question) -> bool:
    """True for a question about a project as a whole, in any of seven languages, that names nothing specific."""
    about_all = question.change is None and question.changes is None and not question.is_about_cursor
    if not about_all or _NAMES_CODE.search(question.text) or not names_nothing_else(question.text):
        return False
    return not question.earlier or names_project(question.text)


def overview_units(workspace: Workspace, question: Question) -> list[int]:
    """The units that answer an overview question, the most telling first; none for any other question."""
    if not asks_for_overview(question):
        return []
    topics = topics_of(question.text)
    topics = [one for one in topics if one != "purpose"] or ["purpose"]  # what does it do; but also: how does it start
    kinds = dict.fromkeys(kind for topic in topics for kind in _ORDER[topic])
    sought = {*topics, "tests"} if _ABOUT_TESTS.search(question.text.lower()) else set(topics)
    of_each = [list(_units_of(workspace, kind, sought)) for kind in kinds]
    found = dict.fromkeys(unit for unit in chain(*zip_longest(*of_each)) if unit is not None)
    return [unit for unit in found if question.scope is None or unit in question.scope.units]


def starter_questions(workspace: Workspace, cancellation: Cancellation) -> list[str]:
    """Questions to begin with, as far as this workspace has files that answer them, and about its central symbols."""
    asked = {"readme": "What does this repository do?", "entry": "Where does it start?"}
    found = [text for kind, text in asked.items() if _files(workspace, kind)]
    tests = ["How do I run its tests?"] if workspace.file_table.are_tests.any() else []
    return [*found, *tests, *(f"How does `{name}` work?" for name in _central_symbols(workspace, cancellation))]


def _central_symbols(workspace: Workspace, cancellation: Cancellation) -> list[str]:
    """The classes and functions that most units use, of those that one unit alone defines; tests do not count."""
    tests = workspace.by_unit(workspace.file_table.are_tests.astype(np.float32))
    uses = dict[str, int]()
    for number, file in enumerate(workspace.files[:_MOST_DEFINING]):
        cancellation.check()
        for name, place in file.analysis.symbols.definitions:
            unit = int(workspace.unit_starts[number]) + place
            central = file.units[place].kind in (UnitKind.CLASS_HEADER, UnitKind.FUNCTION) and not tests[unit]
            if central and _DISTINCT.search(name) and len(workspace.symbols.defining(name)) == 1:
                uses[name] = sum(not tests[user] for user in workspace.symbols.using_name(name))
    return [name for name in sorted(uses, key=lambda name: -uses[name])[:_MOST_CENTRAL] if uses[name]]


def fitting(units: Sequence[int], tokens: NDArray[np.int32], budget_tokens: int) -> list[int]:
    """The first of the units of an overview that fit into their share of a budget. `tokens` are int32 [U]."""
    left, found = min(_SHARE * budget_tokens, _MOST_TOKENS), list[int]()
    for unit in units:
        if 0 < tokens[unit] <= left:
            left -= tokens[unit]
            found.append(unit)
    return found


def _units_of(workspace: Workspace, kind: str, topics: set[str]) -> Iterator[int]:
    """The units of the files of a kind, file by file: the first one of each, then those that come first, then more."""
    for number in _files(workspace, kind):
        file, start = workspace.files[number], int(workspace.unit_starts[number])
        is_first = _KINDS[kind].is_first
        worth = [_worth(file.text_of(unit), kind, topics) for unit in file.units]
        units = sorted((n for n in range(len(worth)) if worth[n]), key=lambda n: -worth[n])
        if kind == "manifest":
            wanted = [_IN_MANIFEST[one] for one in topics if one in _IN_MANIFEST]
            first = [n for n in units if any(one.search(file.text_of(file.units[n])) for one in wanted)]
        else:
            first = [n for n in units if is_first(file.units[n].kind, file.units[n].name, topics)]
        lead = () if first and kind == "entry" else units[:1]
        yield from (start + place for place in list(dict.fromkeys([*lead, *first, *units]))[:_MOST_UNITS])


def _worth(text: str, kind: str, topics: set[str]) -> int:
    """Mentions of tests in a manifest or configuration where these are asked about; else 1, and 0 for a logo."""
    if kind in ("manifest", "configuration") and "tests" in topics:
        return len(_TESTS.findall(text))
    return int(kind != "readme" or re.search(r"\w\w", _MARKUP.sub("", text)) is not None)


def _files(workspace: Workspace, kind: str) -> Sequence[int]:
    """Numbers of at most three files of a kind, entry points that a manifest names first."""
    named = _in_manifests(workspace) if kind == "entry" else []
    return list(dict.fromkeys([*named, *_matching(workspace, _KINDS[kind].path)]))[:_MOST_FILES]


def _in_manifests(workspace: Workspace) -> list[int]:
    """Numbers of the files of code that manifests name by path, or as modules (`package.cli:main`), in that order."""
    code, found = _matching(workspace, _named(rf"[^/]+\.{_CODE}")), dict[int, int]()
    for number in _matching(workspace, _KINDS["manifest"].path)[:_MOST_FILES]:
        manifest = workspace.files[number]
        mentioned = [name.strip("./") for name in _PATH.findall(manifest.text(0, len(manifest.data)))]
        order = {name: place for place, name in reversed(list(enumerate(mentioned)))}
        order = {name.replace(".", "/"): place for name, place in order.items()} | order
        for one in code:
            path = workspace.files[one].path.removeprefix(f"{manifest.path.rpartition('/')[0]}/")
            parts = path.rpartition(".")[0].split("/")
            names = [path, *("/".join(parts[n:]) for n in range(len(parts) - 1))]
            if not path.endswith(".d.ts") and any(name in order for name in names):
                found.setdefault(one, min(order.get(name, len(order)) for name in names))
    return sorted(found, key=lambda one: found[one])


def _matching(workspace: Workspace, pattern: re.Pattern[str]) -> Sequence[int]:
    """Numbers of the files whose path matches, nearest to the root first; no tests."""
    tests = workspace.file_table.are_tests
    found = [n for n, file in enumerate(workspace.files) if not tests[n] and pattern.fullmatch(file.path.lower())]
    return sorted(found, key=lambda n: (workspace.files[n].path.count("/"), workspace.files[n].path))
