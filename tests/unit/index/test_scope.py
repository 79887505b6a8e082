"""Paths, globs and expressions that a question is limited to."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from git_repositories import write

from winnow_engine.core import Cancellation
from winnow_engine.errors import CancelledError, NothingMatchesError, PatternError, PositionError
from winnow_engine.index import scope
from winnow_engine.index.outline import parse_or_plain
from winnow_engine.index.scope import compiled, files_in, in_scope, matching_lines
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question
from winnow_engine.selection import workspace_units
from winnow_engine.selection.workspace_units import WorkspaceUnits

FILES = {
    "api/[id]/page.ts": "export const page = 1\n",
    "api/a.py": "import os\n\n\ndef total(items):\n    return sum(items)\n\n\ndef other():\n    # Total\n    pass\n",
    "api/b.ts": "export const total = 1\r\nexport const b = 2\r\n",
    "docs/d.md": "# One\n\ntotal of sums\n\n# Two\n\nother\n",
    "tests/test_a.py": "def test_total():\n    assert total([]) == 0",
}
Made = Callable[[dict[str, str], Path], Workspace]


@pytest.fixture
def workspace(tmp_path: Path, workspace_of: Made) -> Workspace:
    return workspace_of(FILES, tmp_path)


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ([], set(FILES)),
        (["."], set(FILES)),
        (["docs", "./api/a.py"], {"docs/d.md", "api/a.py"}),
        (["*.py"], {"api/a.py", "tests/test_a.py"}),
        (["api/*.py"], {"api/a.py"}),
        (["/api/*.{ts,py}", "!./*/b.ts"], {"api/a.py"}),
        (["./api/*.ts"], {"api/b.ts"}),
        (["{api/[!a-z],tests}/**"], {"tests/test_a.py"}),
        (["*.{md,{t,j}s}"], {"docs/d.md", "api/b.ts", "api/[id]/page.ts"}),
        (["**/page.ts", "d?cs/"], {"api/[id]/page.ts", "docs/d.md"}),
        (["api/[id]/page.ts"], {"api/[id]/page.ts"}),
        (["api/[id]/*.ts"], {"api/[id]/page.ts"}),
        (["!*.ts", "!tests", "!none"], {"api/a.py", "docs/d.md"}),
        (["api", "!api/[id]"], {"api/a.py", "api/b.ts"}),
        (["api", "!page.ts", "!pi/a.py", "!/a.py", "!./b.ts"], {"api/a.py", "api/b.ts"}),
        (["a.py", "[id]"], {"api/a.py", "api/[id]/page.ts"}),
    ],
)
def test_files_by_path_and_by_glob(paths: list[str], found: set[str], workspace: Workspace) -> None:
    assert {workspace.files[number].path for number in files_in(workspace, paths)} == found


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["./top.py"], {"api/top.py"}),
        (["/src"], {"api/src/a.py", "web/src/b.py"}),
        (["./src/*.py", "!/src/b.py"], {"api/src/a.py"}),
        (["./api/*.py"], {"api/top.py"}),
    ],
)
def test_each_of_several_folders_has_a_top(
    paths: list[str], found: set[str], tmp_path: Path, read: Callable[..., Workspace]
) -> None:
    write(tmp_path, dict.fromkeys(("api/src/a.py", "api/top.py", "web/src/b.py"), "a = 1\n"))
    workspace = read(tmp_path / "api", tmp_path / "web")
    assert {workspace.files[number].path for number in files_in(workspace, paths)} == found


@pytest.mark.parametrize("path", ["none", "", "*.rs", "a{pi", "[", "***{", "#", "!", "\\", "api/a.py/x", "/a.py"])
def test_a_path_that_names_nothing_is_said(path: str, workspace: Workspace) -> None:
    if path != "!":
        with pytest.raises(PositionError, match="no file of the workspace is"):
            files_in(workspace, [path])


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("total", ["api/a.py:4", "api/b.ts:1", "docs/d.md:3", "tests/test_a.py:1", "tests/test_a.py:2"]),
        ("(?i)TOTAL OF|# total", ["api/a.py:9", "docs/d.md:3"]),
        (r"^def \w+\(\):$", ["api/a.py:8", "tests/test_a.py:1"]),
        (r"= \d$", ["api/[id]/page.ts:1", "api/b.ts:1", "api/b.ts:2", "tests/test_a.py:2"]),
        (r"== 0\z", ["tests/test_a.py:2"]),
        (r"^$", ["api/a.py:2", "api/a.py:3", "api/a.py:6", "api/a.py:7", "docs/d.md:2", "docs/d.md:4", "docs/d.md:6"]),
        (r"os\n+def", ["api/a.py:1", "api/a.py:2", "api/a.py:3", "api/a.py:4"]),
        (r"(?s)Two.*other", ["docs/d.md:5", "docs/d.md:6", "docs/d.md:7"]),
        (r"import|return|pass", ["api/a.py:1", "api/a.py:5", "api/a.py:10"]),
    ],
)
def test_lines_that_match(pattern: str, lines: list[str], workspace: Workspace) -> None:
    found = matching_lines(workspace, range(len(workspace.files)), pattern, Cancellation())
    assert found.complete
    named = [f"{workspace.units[unit][0].path}:{line}" for unit, some in found.by_unit.items() for line in some]
    assert named == lines
    for unit, some in found.by_unit.items():
        assert all(workspace.units[unit][1].start_line <= line <= workspace.units[unit][1].end_line for line in some)


def test_a_question_keeps_units_that_match_in_the_files_asked_about(workspace: Workspace) -> None:
    question = in_scope(Question("Why?", paths=("api",), pattern="total|Total"), workspace, Cancellation())
    assert question.scope
    units = [workspace.units[int(unit)] for unit in question.scope.units]
    assert [(file.path, unit.name) for file, unit in units if file.path == "api/a.py"] == [
        ("api/a.py", "total"),
        ("api/a.py", "other"),
    ]
    assert [question.scope.line_of(int(unit)) for unit in question.scope.units] == [4, 9, 1]
    for pattern in "nothing at all", r"os\s+def":
        with pytest.raises(NothingMatchesError, match="no line matches "):
            in_scope(Question("Why?", pattern=pattern), workspace, Cancellation())
    assert in_scope(Question("Why?"), workspace, Cancellation()).scope is None


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a*)*b", "a*a*a*a*a*a*a*b", "(.*)*(.*)*x", "(?s).*a.*b|a"])
def test_no_pattern_takes_long(pattern: str, tmp_path: Path, workspace_of: Made) -> None:
    workspace, started = workspace_of({"a.md": "# A\n\n" + f"{'a' * 150}!\n" * 600}, tmp_path), time.process_time()
    with suppress(NothingMatchesError):
        matching_lines(workspace, [0], pattern, Cancellation())
    files_in(workspace, ["!" + "*a" * 200, "!" + "{a,b}" * 200])
    assert time.process_time() - started < 20


def test_an_error_has_the_expression_as_it_was_written() -> None:
    with pytest.raises(PatternError, match=r"missing \): \(\. It"):
        compiled("(")


def test_a_search_ends_when_its_time_is_over_or_it_is_cancelled(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = Cancellation()
    cancelled.cancel()
    with pytest.raises(CancelledError):
        matching_lines(workspace, [1], "t", cancelled)
    for limit, value in ("_MOST_LINES", 3), ("_SECONDS", -1.0):
        with monkeypatch.context() as patched:
            patched.setattr(scope, limit, value)
            found = matching_lines(workspace, range(1, len(workspace.files)), "t", Cancellation())
            assert not found.complete
            assert sum(map(len, found.by_unit.values())) == (3 if value == 3 else 1)
            question = in_scope(Question("Why?", pattern="t"), workspace, Cancellation())
            assert question.scope
            assert not question.scope.complete
    monkeypatch.setattr(scope, "_SECONDS", -1.0)
    with pytest.raises(NothingMatchesError, match="given up"):
        matching_lines(workspace, range(2), "no such thing", Cancellation())


def test_a_unit_is_cut_around_the_line_that_matches(
    tmp_path: Path, workspace_of: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse = Mock(wraps=parse_or_plain)
    monkeypatch.setattr(workspace_units, "parse_or_plain", parse)
    body = "".join(f"    step_{number}()\n" for number in range(100))
    workspace = workspace_of({"a.py": f"def all():\n{body}"}, tmp_path)
    question = in_scope(Question("Why?", pattern="step_70"), workspace, Cancellation())
    units = WorkspaceUnits(workspace, np.array([500], np.int32), lambda text: text.count("\n"), question)
    cut = units.cut(0, 20, None)
    assert cut is not None
    assert cut.start_line <= 72 <= cut.end_line
    assert cut.tokens <= 20
    assert units.cut(0, 30, (5, 9))
    assert parse.call_count == 1
