"""Overview questions: what a project does, how it starts, how it is built and tested, what its parts are.

No score finds the code that answers them. README, manifest, entry points and main configuration do, by their names;
of a library what the README names, and the modules that most others use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import UnitKind
from winnow_engine.index.name_rules import ABOVE
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question
from winnow_engine.selection.definitions import CLASS
from winnow_engine.selection.overview_words import names_nothing_else, names_project, says_nothing_else, topics_of

_MOST_FILES, _MOST_UNITS = 3, 4  # of one kind, and of one file
_NAMES_CODE = re.compile(r"[`_{}=<>#@$\d]|\w\(|::|\w\.\w|[a-z][A-Z]")
# A noun without an article is a name: `main`, `setup`, `overview`.
_IS_NAME = re.compile(r"(?i)\W*what\s+(?:exactly\s+)?does\s+(?!(?:all|everything|it|one|that)\b)\w+\s+do\W*")
_CODE = r"(?:[cm]?[jt]sx?|py|rs|go|java|kts?|scala|c|cc|cpp|cxx|rb|php|cs|swift|dart|exs?|hs|zig|lua|pl|r|jl|ml|elm)"
_MANIFESTS = r"""package\.json pyproject\.toml cargo\.toml go\.mod pom\.xml build\.gradle(\.kts)? cmakelists\.txt
    meson\.build setup\.(py|cfg) composer\.json gemfile \S+\.(gemspec|csproj|cabal|opam) mix\.exs build\.zig
    pubspec\.yaml package\.swift project\.toml dune-project elm\.json description configure\.(ac|in)"""
_CONFIGURATION = r"""(gnu)?makefile justfile taskfile\.ya?ml tox\.ini noxfile\.py dockerfile
    (docker-)?compose\.ya?ml tsconfig\.json settings\.py config\.(py|[jt]s|toml|ya?ml) rakefile
    \.github/workflows/[^/]+\.ya?ml \.(gitlab-ci|travis)\.yml"""

_MARKUP = re.compile(  # what says nothing: comments, logos and badges; a heading alone
    r"(?s:<!--.*?(?:-->|\Z))|<[^>]*>|!?\[[^\]]*\](\([^)]*\))*|\]?\(https?:[^)]*\)|\A\s*(?:#.*|.+\n *(?:=+|-+) *)\s*\Z"
)
_TELLING, _FRAGMENT = 200, 48  # letters of a section that tells what a project is, and of what tells nothing
_ASIDE = re.compile(
    r"(?i)(?:^|/)(?:vendor(?:ed)?|third[_-]?party|external|deps|dist|docs?|website|www|scripts?|tools?|contrib|compat|samples?|demos?|fuzz\w*)/"
)
_DISTINCT = re.compile(r"[A-Z]\w*[a-z]|[a-z]\w*[a-z\d](?:[A-Z]|_[a-z])\w*")  # `get` may mean another
_CODE_IN_PROSE = re.compile(r"(?ms)^```.*?^```|`[^`\n]+`|^(?: {4}|\t)[^\n]*")
_MOST_NAMED, _MOST_CENTRAL = 2, 8  # units that the README names, modules
_TITLE = 2000  # characters of a README, in which the project is named
_LONGEST_ENTRY = 1600  # bytes, which fit beside README and manifest into the smallest budget
_LONGEST_PART = 2400  # bytes, behind README and manifest, so that many modules fit
_PATH = re.compile(r"([\w.]+):[a-z]|(\.?[\w@-][\w@./-]*/[\w@./-]+|(?<=\")[\w@./-]+(?=\"))")  # `tax.cli:run`, or a path
_IN_MANIFEST = {
    "purpose": re.compile(r"\b(?:description|AC_INIT)\b|(?i:\bproject ?\()"),
    "start": re.compile(r"\b(add_executable|main|bin|exports|module|entry_points|mainClass)\b|scripts\]"),
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
_SHORT = {"manifest", "parts", "entry"}  # two units of such a file will do
_KINDS = {
    "readme": _Kind(
        _named(r"readme(\.\w+)?"),
        lambda _, name, topics: bool(topics & set(topics_of(name))) and ("build" in topics or says_nothing_else(name)),
    ),
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
    "purpose": ("readme", "manifest", "entry", "named", "central"),
    "start": ("entry", "manifest", "readme", "named"),
    "build": ("manifest", "configuration", "guide", "readme"),
    "tests": ("guide", "readme", "manifest", "configuration"),
    "parts": ("readme", "manifest", "entry", "named", "parts", "central"),
}


def asks_for_overview(question: Question) -> bool:
    """True for a question about a project as a whole, in any of seven languages, that names nothing specific."""
    about_all = question.change is None and question.changes is None and not question.is_about_cursor
    if not about_all or _NAMES_CODE.search(question.text) or not names_nothing_else(question.text):
        return False
    return names_project(question.text) or not (question.earlier or _IS_NAME.fullmatch(question.text))


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
        topics.sort(key=lambda topic: topic != "parts")
        kinds = dict.fromkeys(kind for topic in topics for kind in _ORDER[topic])
        of_each = [list(_units_of(workspace, kind, set(topics))) for kind in kinds]
        found = list(dict.fromkeys(unit for unit in chain(*zip_longest(*of_each)) if unit is not None))
        if "parts" in topics:  # many short ones, behind the beginnings of README and manifest
            found = [*found[:2], *(unit for unit in found[2:] if workspace.unit_bytes[unit] <= _LONGEST_PART)]
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
    """The first of the units of an overview that fit into a budget. `tokens` are int32 [U]."""
    found = list[int]()
    for unit in units:
        if 0 < tokens[unit] <= budget_tokens:
            budget_tokens -= int(tokens[unit])
            found.append(unit)
    return found


def _units_of(workspace: Workspace, kind: str, topics: set[str]) -> Iterator[int]:
    """The units of the files of a kind, file by file: the first one of each, then those that come first, then more."""
    if kind in _CHOSEN:
        yield from _CHOSEN[kind](workspace)
        return
    for number in _files_of(workspace, kind, topics):
        file, start = workspace.files[number], int(workspace.unit_starts[number])
        texts = [file.text_of(unit) for unit in file.units]
        letters = [sum(map(str.isalnum, _MARKUP.sub("", text))) for text in texts]
        fewest = 2 if kind == "readme" else _FRAGMENT if kind in _SHORT and "build" not in topics else 1
        fewest = min(fewest, max(letters, default=0)) or 1
        units = [n for n, count in enumerate(letters) if count >= fewest]
        if kind == "entry":
            units = [n for n in units if file.units[n].kind is not UnitKind.IMPORTS] or units
        if kind == "manifest":
            said = [_IN_MANIFEST[one] for one in topics & {*_IN_MANIFEST}]
            first = [n for n in units if any(one.search(texts[n]) for one in said)]
        else:
            among = range(len(letters)) if kind == "entry" else units  # a `main` may be a line
            first = [n for n in among if _KINDS[kind].is_first(file.units[n].kind, file.units[n].name, topics)]
        lead = () if first and kind == "entry" else units[:1]
        if kind == "readme":
            lead = [n for n in units[:_MOST_FILES] if letters[n] >= _TELLING][:1] or lead
        elif kind == "manifest":
            lead = [n for n in units if _IN_MANIFEST["purpose"].search(texts[n])][:1] or lead
        elif kind == "entry" and "parts" in topics:
            first = [n for n in first if file.units[n].end_byte - file.units[n].start_byte <= _LONGEST_ENTRY]
        most = 2 if kind in _SHORT and "build" not in topics else _MOST_UNITS
        more = () if kind in ("readme", "manifest") and "parts" in topics else units
        yield from (start + place for place in list(dict.fromkeys([*lead, *first, *more]))[:most])


def _files_of(workspace: Workspace, kind: str, topics: set[str]) -> Sequence[int]:
    """Numbers of the files of a kind. For an overview of all, no tools; of `parts` those with most in their folder."""
    if topics & {"start", "build"} and "parts" not in topics:
        return files_of_kind(workspace, kind)
    if kind == "parts":
        folders = Counter[str]()
        for number, worth in enumerate(_worth_of_files(workspace).tolist()):
            parts = workspace.files[number].path.split("/")[:-1]
            folders.update({"/".join(parts[:end]): worth for end in range(len(parts) + 1)} if worth else {})
        found = _matching(workspace, _KINDS[kind].path)
        found = sorted(found, key=lambda one: -folders[workspace.files[one].path.rpartition("/")[0]])
        return [one for one in found if not _is_aside(workspace, one)][:_MOST_FILES]
    if kind == "entry":
        named, others = _entries(workspace)
        found = (named or ([] if _named_in_readme(workspace) else others))[:_MOST_FILES]
        return [number for number in found if not _is_aside(workspace, number)]
    found = files_of_kind(workspace, kind)
    return [number for number in found if not _is_aside(workspace, number)] or found


def _worth_of_files(workspace: Workspace) -> NDArray[np.float64]:
    """Σ log2(1 + uses) over the units of each file, float64 [F]: much for one that is large and used by many."""
    uses = workspace.uses
    of_files = workspace.files_of(np.arange(len(uses)))
    return np.asarray(np.bincount(of_files, np.log2(1 + uses), len(workspace.files)), np.float64)


def _named_in_readme(workspace: Workspace) -> list[int]:
    """The two short units whose names the README has most often, of those that it shares with few others."""
    found = Counter[int]()
    for name, times in _names_in_readme(workspace).items():
        units = workspace.symbols.defining(name)
        files = {*workspace.files_of(units).tolist()}
        if files and len(files) <= _MOST_NAMED and not any(_is_aside(workspace, number) for number in files):
            found[max(units, key=lambda unit: workspace.unit_kinds[unit] == CLASS)] += times
    tells = _tells(workspace)
    order = sorted(found, key=lambda unit: (workspace.unit_kinds[unit] != CLASS, -found[unit]))
    return [unit for unit in order if tells[unit]][:_MOST_NAMED]


def _tells(workspace: Workspace) -> NDArray[np.bool_]:
    """Mask of units that are short, but not a line alone, bool [U]."""
    return np.asarray((workspace.unit_bytes > _FRAGMENT) & (workspace.unit_bytes <= _LONGEST_ENTRY))


def _names_in_readme(workspace: Workspace) -> Counter[str]:
    files = (workspace.files[number] for number in files_of_kind(workspace, "readme")[:1])
    code = (part for file in files for part in _CODE_IN_PROSE.findall(file.text(0, len(file.data))))
    return Counter(filter(_DISTINCT.fullmatch, re.findall(r"\w+", "\n".join(code))))


def _central(workspace: Workspace) -> Iterator[int]:
    """A short unit of each of the files that define most of what other files use: a class before what is used more."""
    uses, tells = workspace.uses, _tells(workspace)
    of_files = _worth_of_files(workspace)
    order = np.argsort(-of_files, kind="stable").tolist()
    files = (number for number in order if of_files[number] and not _is_aside(workspace, number))
    for number in islice(files, _MOST_CENTRAL):
        units = [unit for unit in workspace.units_of([number]).tolist() if uses[unit] and tells[unit]]
        if units:
            yield max(units, key=lambda unit: uses[unit] * (1 + _is_outer_class(workspace, unit)))


def _is_outer_class(workspace: Workspace, unit: int) -> bool:
    return bool(workspace.unit_kinds[unit] == CLASS) and "." not in workspace.units[unit][1].name


def _is_aside(workspace: Workspace, number: int) -> bool:
    return bool(workspace.file_table.are_tests[number]) or _ASIDE.search(workspace.files[number].path) is not None


_CHOSEN = {"named": _named_in_readme, "central": _central}


def files_of_kind(workspace: Workspace, kind: str) -> Sequence[int]:
    """Numbers of at most three files of a kind; entry points that a manifest names first, else those with a `main`."""
    if kind == "entry":
        named, others = _entries(workspace)
        return (named or others)[:_MOST_FILES]
    found = _matching(workspace, _KINDS[kind].path)
    if kind == "readme" and not found:  # it may be a link to this
        found = _matching(workspace, _named(r"docs?/(source/)?index\.\w+"))
    return list(dict.fromkeys(found))[:_MOST_FILES]


def _entries(workspace: Workspace) -> tuple[list[int], list[int]]:
    """Numbers of files with entry points, by their names, a manifest or the project's name; if none, with a `main`."""
    found = _matching(workspace, _KINDS["entry"].path)
    mains = {*workspace.files_of(workspace.symbols.defining("main")).tolist()}
    named = [*sorted(_in_manifests(workspace), key=lambda one: one not in found), *found]  # all of C, by CMake's
    found = [one for one in named if one in mains or not workspace.files[one].path.endswith((".c", ".cc", ".cpp"))]
    if found:
        return list(dict.fromkeys(found)), []
    others = [one for one in _matching(workspace, _SOURCE) if one in mains]
    readmes = [workspace.files[one] for one in files_of_kind(workspace, "readme")[:1]] if others else []
    title = {word for one in readmes for word in re.findall(r"\w+", one.text(0, len(one.data))[:_TITLE].lower())}
    stems = {one: workspace.files[one].path.rpartition("/")[2].partition(".")[0].lower() for one in others}
    return [one for one in others if stems[one] in title], others


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
