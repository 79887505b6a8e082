"""Overview questions: what a project does, how it starts, how it is built and tested, what its parts are.

No score finds the code that answers them. README, manifest, entry points and main configuration do, by their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import UnitKind
from winnow_engine.index.name_rules import ABOVE
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question
from winnow_engine.selection.overview_words import names_nothing_else, names_project, topics_of

_MOST_FILES, _MOST_UNITS = 3, 4  # of one kind, and of one file
_SHARE, _MOST_TOKENS = 0.6, 1500  # of a budget; scores choose the rest
_NAMES_CODE = re.compile(r"[`_{}=<>#@$\d]|\w\(|::|\w\.\w|[a-z][A-Z]")
_CODE = r"(?:[cm]?[jt]sx?|py|rs|go|java|kts?|scala|c|cc|cpp|cxx|rb|php|cs|swift|dart|exs?|hs|zig|lua|pl|r|jl|ml|elm)"
_MANIFESTS = r"""package\.json pyproject\.toml cargo\.toml go\.mod pom\.xml build\.gradle(\.kts)? cmakelists\.txt
    meson\.build setup\.(py|cfg) composer\.json gemfile \S+\.(gemspec|csproj|cabal|opam) mix\.exs build\.zig
    pubspec\.yaml package\.swift project\.toml dune-project elm\.json description"""
_CONFIGURATION = r"""(gnu)?makefile justfile taskfile\.ya?ml tox\.ini noxfile\.py dockerfile
    (docker-)?compose\.ya?ml tsconfig\.json settings\.py config\.(py|[jt]s|toml|ya?ml) rakefile
    \.github/workflows/[^/]+\.ya?ml \.(gitlab-ci|travis)\.yml"""

_MARKUP = re.compile(  # what says nothing: logos and badges; a heading alone
    r"<[^>]*>|!?\[[^\]]*\](\([^)]*\))*|\]?\(https?:[^)]*\)|\A\s*(?:#.*|.+\n *(?:=+|-+) *)\s*\Z"
)
_LONGEST_ENTRY = 1600  # bytes, which fit beside README and manifest into the smallest budget
_PATH = re.compile(r"([\w.]+):[a-z]|(\.?[\w@-][\w@./-]*/[\w@./-]+|(?<=\")[\w@./-]+(?=\"))")  # `tax.cli:run`, or a path
_IN_MANIFEST = {
    "purpose": re.compile(r"\bdescription\b"),
    "start": re.compile(r"\b(main|bin|exports|module|entry_points|mainClass)\b|scripts\]"),
    "build": re.compile(r"\b(scripts|test|build)\b|build-system|\[tool\."),
    "parts": re.compile(r"\b(workspaces?|members|packages|modules?)\b"),
}
_ABOUT_TESTS = re.compile(r"test|prueb|proba[rd]|тест|テスト|测试|測試", re.IGNORECASE)
_ABOUT_MORE = re.compile(
    r"(?i)buil|instal|compil|set ?up|deploy|contrib|develop|bau[et]|einricht|constru|собр|собир|сбор|устан|ビルド"
    r"|インスト|构建|構建|编译|編譯|安装|安裝|部署|\b(?:and|und|et|y|и)\b|work|funktion|funcion|marche|работа|仕組|工作|原理"
)
_HOW = re.compile(
    r"(?i)\bhow (?!many|much)|\b(?:run|execut|wie|lauf|fuhr|c[oó]mo|ejecut|comment|lanc)|führ|\bкак\b|запус|выполн"
    r"|どう|実行|走|怎|如何|运行|運行|执行|執行"
)
_RUNS_TESTS = re.compile(
    r"(?i)\b(?:npm|yarn|pnpm|bun|deno|cargo|go(?! to\b)|g?make(?! sure)|manage\.py|mvn|gradlew?|dotnet|swift|mix"
    r"|cabal|zig build|rake|sbt|lein|dune) (?:[\w:$.{}-]+ ){0,4}(?:tests?|check)\b|(?<![\w./-])"
    r"(?-i:py\.?test|unittest|tox|nox|ctest|rspec|phpunit|jest|vitest|mocha|busted)\b(?!\.\w| -e (?!py|test))"
    r"|\"test\"\s*:|^(?:tests?|check)\s*:|\b(?:scripts?|bin)/tests?\b|\brun_?tests?\b|^[\s$>]*\./\S*tests?\b"
)
_NAMES_TOOL = re.compile(r"\s*(?:\[.*|[\"']?[\w.-]+[\"']?(?:\[.*\])?\s*(?:[,:<>=~!^].*\d.*|,)?)$")  # table, dependency
_TOOL_OPTIONS = re.compile(r"^\[(?:tool[.:])?(?:pytest|tox|nox)\b", re.MULTILINE)
_SAYS_HOW = re.compile(r"\b(?:commands?|scripts?|runs?|running)\b|^[^\w\n]*[$▶>] |`", re.MULTILINE | re.IGNORECASE)
_MOST_RUNNING_TESTS, _MOST_SEARCHED, _LONGEST_LINE = 3, 16, 400  # units, files of a kind, characters


class _Kind(NamedTuple):
    """Files of an overview, by their path in lower case, and the order of a file's units."""

    path: re.Pattern[str]
    is_first: Callable[[UnitKind, str, set[str]], bool]


def _named(names: str) -> re.Pattern[str]:
    return re.compile(rf"(?:.*/)?(?:{'|'.join(names.split())})")


_SOURCE = _named(rf"[^/]+\.{_CODE}")
_KINDS = {
    "readme": _Kind(_named(r"readme(\.\w+)?"), lambda _, name, topics: bool(topics & set(topics_of(name)))),
    "guide": _Kind(_named(r"(contributing|hacking|develop(ing|ment)|testing)(\.\w+)?"), lambda *_: False),
    "manifest": _Kind(_named(_MANIFESTS), lambda *_: False),
    "entry": _Kind(
        _named(rf"(__main__|main|index|app|cli|manage|server|program|lib)\.{_CODE} bin/[\w-]+"),
        lambda _, name, __: name.rpartition(".")[2].lower() in ("main", "run", "cli"),
    ),
    "configuration": _Kind(_named(_CONFIGURATION), lambda *_: False),
    "parts": _Kind(
        _named(rf"(__init__|mod|lib|index|doc|package-info)\.{_CODE} (architecture|design|structure)\.\w+"),
        lambda kind, *_: kind is not UnitKind.IMPORTS,
    ),
}
_ORDER = {
    "purpose": ("readme", "manifest", "entry"),
    "start": ("entry", "manifest", "readme"),
    "build": ("manifest", "configuration", "guide", "readme"),
    "tests": ("guide", "readme", "manifest", "configuration"),
    "parts": ("readme", "parts", "manifest", "entry"),
}


def asks_for_overview(question: Question) -> bool:
    """True for a question about a project as a whole, in any of seven languages, that names nothing specific."""
    about_all = question.change is None and question.changes is None and not question.is_about_cursor
    if not about_all or _NAMES_CODE.search(question.text) or not names_nothing_else(question.text):
        return False
    return not question.earlier or names_project(question.text)


def without_idle_cursor(question: Question) -> Question:
    """The question, without its cursor if it is about the project: an editor has one whatever is asked."""
    return replace(question, cursor=None, code=None) if asks_for_overview(question) else question


def overview_units(workspace: Workspace, question: Question) -> list[int]:
    """The units that answer an overview question, the most telling first; none for any other question."""
    if not asks_for_overview(question):
        return []
    topics = [one for one in topics_of(question.text) if one != "purpose"] or ["purpose"]  # the rest says more
    found = units_running_tests(workspace) if asks_for_tests(question) else []
    if not found:
        kinds = dict.fromkeys(kind for topic in topics for kind in _ORDER[topic])
        of_each = [list(_units_of(workspace, kind, set(topics))) for kind in kinds]
        found = list(dict.fromkeys(unit for unit in chain(*zip_longest(*of_each)) if unit is not None))
    return [unit for unit in found if question.scope is None or unit in question.scope.units]


def asks_for_tests(question: Question) -> bool:
    """True for an overview question about nothing but how tests are run."""
    text = question.text
    about_tests = _ABOUT_TESTS.search(text) and _HOW.search(text) and not _ABOUT_MORE.search(text)
    return bool(about_tests) and asks_for_overview(question) and {*topics_of(text)} <= {"purpose", "start", "build"}


def starts_somewhere(workspace: Workspace) -> bool:
    """True if there is a function to start with that is short enough to be kept."""
    units = (unit for number in files_of_kind(workspace, "entry") for unit in workspace.files[number].units)
    short = (unit for unit in units if unit.end_byte - unit.start_byte <= _LONGEST_ENTRY)
    return any(_KINDS["entry"].is_first(unit.kind, unit.name, set()) for unit in short)


def units_running_tests(workspace: Workspace) -> list[int]:
    """At most three units, of a file each, that tell how tests are run, by command; the most telling first."""
    found = dict[int, int]()
    for kind in _ORDER["tests"]:
        for number in _matching(workspace, _KINDS[kind].path)[:_MOST_SEARCHED]:
            file = workspace.files[number]
            worth = [_tells_of_tests(file.text_of(unit), unit.name) for unit in file.units]
            if any(worth):
                found[int(workspace.unit_starts[number]) + worth.index(max(worth))] = max(worth)
    least = max(found.values(), default=0) - 1
    return sorted((unit for unit in found if found[unit] >= least), key=lambda unit: -found[unit])[:_MOST_RUNNING_TESTS]


def _tells_of_tests(text: str, heading: str) -> int:
    """3 for a line with a command that runs tests, more if the heading is about them; 1 for a tool's options."""
    short = (line for line in text.splitlines() if len(line) <= _LONGEST_LINE)
    lines = [line for line in short if _RUNS_TESTS.search(line) and not _NAMES_TOOL.match(line)]
    if not lines:
        return int(_TOOL_OPTIONS.search(text) is not None)
    return 3 + bool(_SAYS_HOW.search(text)) + 2 * bool(_ABOUT_TESTS.search(heading))


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
    for number in files_of_kind(workspace, kind):
        file, start = workspace.files[number], int(workspace.unit_starts[number])
        texts = [file.text_of(unit) for unit in file.units]
        units = [n for n, text in enumerate(texts) if kind != "readme" or re.search(r"\w\w", _MARKUP.sub("", text))]
        if kind == "manifest":
            first = [n for n in units if any(_IN_MANIFEST[one].search(texts[n]) for one in topics & {*_IN_MANIFEST})]
        else:
            first = [n for n in units if _KINDS[kind].is_first(file.units[n].kind, file.units[n].name, topics)]
        lead = () if first and kind == "entry" else units[:1]
        yield from (start + place for place in list(dict.fromkeys([*lead, *first, *units]))[:_MOST_UNITS])


def files_of_kind(workspace: Workspace, kind: str) -> Sequence[int]:
    """Numbers of at most three files of a kind; entry points that a manifest names first, else those with a `main`."""
    found = _matching(workspace, _KINDS[kind].path)
    if kind == "entry":
        mains = {*workspace.files_of(workspace.symbols.defining("main"))}
        named = [*sorted(_in_manifests(workspace), key=lambda one: one not in found), *found]  # all of C, by CMake's
        found = [one for one in named if one in mains or not workspace.files[one].path.endswith((".c", ".cc", ".cpp"))]
        found = found or [one for one in _matching(workspace, _SOURCE) if one in mains]
    if kind == "readme" and not found:  # it may be a link to this
        found = _matching(workspace, _named(r"docs?/(source/)?index\.\w+"))
    return list(dict.fromkeys(found))[:_MOST_FILES]


def _in_manifests(workspace: Workspace) -> list[int]:
    """Numbers of the files of code that manifests name by path, or as modules (`package.cli:main`), in that order."""
    code, found = _matching(workspace, _SOURCE), dict[int, int]()
    for number in _matching(workspace, _KINDS["manifest"].path)[:_MOST_FILES]:
        manifest = workspace.files[number]
        mentioned = _PATH.findall(manifest.text(0, len(manifest.data)))
        names = [ABOVE.sub("", path).rstrip("./") or f"/{module.replace('.', '/')}" for module, path in mentioned]
        order = {name: place for place, name in reversed(list(enumerate(names)))}
        for one in code:
            path = workspace.files[one].path.removeprefix(f"{manifest.path.rpartition('/')[0]}/")
            stem = f"/{path.rpartition('.')[0]}"
            modules = [stem[n:] for n, character in enumerate(stem) if character == "/"]
            names = modules if path.endswith(".py") else [path, stem[1:]]  # tools of Python have options with paths
            if not path.endswith(".d.ts") and any(name in order for name in names):
                found.setdefault(one, min(order.get(name, len(order)) for name in names))
    return sorted(found, key=lambda one: found[one])


def _matching(workspace: Workspace, pattern: re.Pattern[str]) -> Sequence[int]:
    """Numbers of the files whose path matches, nearest to the root first, then `main` first; no tests."""
    tests = workspace.file_table.are_tests
    found = [n for n, file in enumerate(workspace.files) if not tests[n] and pattern.fullmatch(file.path.lower())]
    paths = {n: workspace.files[n].path for n in found}
    return sorted(found, key=lambda n: (paths[n].count("/"), "main." not in paths[n], paths[n]))
