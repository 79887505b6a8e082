"""Text that a question takes from code: what has it literally is meant."""

from pathlib import Path

import numpy as np
import pytest

from winnow_engine.index.bm25 import LexicalIndex
from winnow_engine.question import Question
from winnow_engine.selection.definitions import defining
from winnow_engine.selection.literals import wants_tests
from winnow_engine.selection.workspace_units import WorkspaceUnits

from ..conftest import written

FILES = {
    "src/cli.py": 'def options(parser):\n    parser.add_argument("--dry-run", help="change nothing")\n\n\n'
    'def home():\n    return getenv("SHOP_HOME") or "~/.shoprc"\n\n\ndef log(home):\n    """SHOP_HOME is told."""\n',
    "src/opts.rs": "struct Options {\n    allow_warnings: bool,\n}\n\nfn read() -> bool {\n    allow_warnings()\n}\n",
    "src/opts.hs": 'options = [Option "e" ["exclude"] "leave out"]\n\ntold = "no --exclude here"\n',
    "src/lines.py": 'def read(line):\n    """Read one line of the file."""\n'
    '    raise ValueError(f"line {line} is not closed")\n'
    '\n\ndef find(name):\n    log("Don\'t know what " + name + " means here")\n\n\ndef other(name):\n'
    '    log("the pool of " + name\n        + " must not be empty "\n        "once it was filled, "\n'
    "        'but can be')\n",
    "src/routes.go": 'package a\n\nfunc route() {\n\tget("/carts/:id/items", "/shops/near/")\n}\n\nfunc items() {}\n',
    "src/all.py": "def read_all():\n    pass\n\n\ndef more():\n    read_all()\n",
    "src/read_only.py": 'def change():\n    # a read-only file, and/or I/O\n    log("in-place: no", "I/O ports")\n',
    "src/modes.py": 'def modes():\n    return "in-place", "text/plain"\n',
    "docs/usage.md": "# Usage\n\n`--dry-run`, SHOP_HOME: line 5 is not closed\n",
    "app.json": '{"env": {"SHOP_HOME": "x", "SHOP_ONLY": 1}}\n',
    "tests/test_cli.py": 'def test_cli():\n    run("--dry-run", "SHOP_HOME", "SHOP_TEST")\n'
    '    assert told() == "line 5 is not closed, in all"\n'
    '    told("the shop is told nothing else", "when told nothing")\n',
}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("--dry-run", "cli.py:options"),
        ("where is the --dry-run flag read?", "cli.py:options"),
        ("--allow-warnings", "opts.rs:Options"),
        ("--exclude", "opts.hs:options"),
        ("--none-such", ""),
        ("SHOP_HOME environment variable", "cli.py:home"),
        ("SHOP_ONLY", "app.json:"),
        ("SHOP_TEST", "test_cli.py:test_cli"),
        ("where is .shoprc read", "cli.py:home"),
        ("GET /carts/{id}/items", "routes.go:route"),
        ("/carts/:cart/items", "routes.go:route"),
        ("/carts/items", ""),
        ("shops/near", "routes.go:route"),
        ("shops/near endpoint", "routes.go:route"),
        ("read-only file", ""),
        ("how does in-place work", "modes.py:modes"),
        ("text/plain", "modes.py:modes"),
        ("how do I install and/or run it", ""),
        ("how does I/O work?", ""),
        ("where is `read_all` used?", ""),
        ("line %d is not closed", "lines.py:read"),
        ("Line 17 is not closed.", "lines.py:read"),
        ("line 5 is not closed, in all", "lines.py:read"),
        ("error when told nothing", ""),
        ("test when told nothing", "test_cli.py:test_cli"),
        ("the shop is told nothing else", "test_cli.py:test_cli"),
        ("'line 17 is not closed'", "lines.py:read"),
        ('Don\'t know what "Pool" means here', "lines.py:find"),
        ("Error: don't know what shop.Pool means here", "lines.py:find"),
        ("the pool of carts must not be empty once it was filled, but can be", "lines.py:other"),
        ("the carts must not be empty", ""),
        ("What must not be empty once it was filled?", ""),
        ("read one line of the file", ""),
        ("is not", ""),
        ("%s %s", ""),
    ],
)
def test_code_that_has_a_text_literally_is_meant(tmp_path: Path, text: str, places: str) -> None:
    workspace = written(FILES, tmp_path)
    units = [workspace.units[unit] for unit in defining(Question(text), workspace)]
    assert [f"{file.path.rpartition('/')[2]}:{unit.name}" for file, unit in units] == places.split()


def test_what_much_code_has_is_meant_by_none(tmp_path: Path) -> None:
    files = {f"a{n}.py": f'def run{n}():\n    log("the pool is empty now", "--dry-run")\n' for n in range(5)}
    workspace = written(files, tmp_path)
    assert not defining(Question("the pool is empty now"), workspace)
    assert not defining(Question("--dry-run"), workspace)


@pytest.mark.parametrize(
    "text",
    [
        "%s ab " * 80,
        "'ab " * 120,
        "ab" * 245,
        "/ab" * 160,
        "ab." * 160,
        "--ab-" * 98,
        "/ab/{a}-{b}-{c}-{d}",
        "ab.{a}-{b}.",
    ],
)
def test_odd_texts_are_looked_for_in_linear_time(tmp_path: Path, text: str) -> None:
    parts = ("'ab ", "ab", "/ab", "ab.", "--ab-", "/ab/" + "-" * 4000)
    code = [f"def odd{n}():\n    return \"{part * (4800 // len(part))}\", 'xy'\n" for n, part in enumerate(parts)]
    assert not defining(Question(f"{text}xy"), written({"a.py": "\n\n".join(code)}, tmp_path))


def test_a_flag_that_nothing_has_is_searched_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched, having = list[str](), LexicalIndex.having_all
    monkeypatch.setattr(LexicalIndex, "having_all", lambda index, text: searched.append(text) or having(index, text))
    assert not defining(Question("--none-such"), written(FILES, tmp_path))
    assert searched == ["none-such"]


@pytest.mark.parametrize("end", ["\n", "\r"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ERROR: the pool is empty, 3 waiting", 61),
        ('What causes "the pool is empty"?', 61),
        ("the pool {name} is not empty enough", 81),
        ("Who calls close_all?", 71),
        ("When does fill() call `close_all`, and why?", 71),
        ("How is the pool filled?", 1),
    ],
)
def test_a_long_unit_is_cut_around_what_is_quoted_or_named(tmp_path: Path, text: str, line: int, end: str) -> None:
    steps = [f'    step_{number}("the pool\f\u2028")\n' for number in range(100)]
    steps[69] = "    close_all()\n"
    steps[59], steps[79] = '    log("the pool is empty, {} waiting")\n', '    log(f"{name} is not empty enough")\n'
    code = f"def fill():\n{''.join(steps)}".replace("\n", end)
    workspace = written({"a.py": code, "b.py": "def close_all(): ...\n"}, tmp_path)
    units = WorkspaceUnits(workspace, np.array([999], np.int32), lambda code: code.count(end), Question(text))
    cut = units.cut(0, 9, None)
    assert cut is not None
    assert (cut.start_line, cut.end_line) == (line, line + 8)


def test_a_unit_is_cut_at_its_start_where_the_statement_of_the_message_is_too_long(tmp_path: Path) -> None:
    rows = "".join(f"        {number},\n" for number in range(50))
    code = f'def fill():\n    step()\n    log(\n        "the pool is empty",\n{rows}    )\n'
    asked = Question("the pool is empty")
    cut = WorkspaceUnits(written({"a.py": code}, tmp_path), np.array([99], np.int32), len, asked).cut(0, 60, None)
    assert cut is not None
    assert (cut.start_line, cut.end_line) == (1, 2)


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("how does test_client open the app?", False),
        ("what is TestClient?", False),
        ("which test of `test` covers test_client?", True),
        ("test_cli", True),
        ("how do I test the app?", True),
    ],
)
def test_a_name_of_code_outside_of_tests_asks_for_none(tmp_path: Path, text: str, tests: bool) -> None:
    code = {"src/app.py": "def test():\n    pass\n\n\ndef test_client():\n    pass\n\n\nclass TestClient: ...\n"}
    workspace = written({**code, "tests/test_cli.py": "def test_cli():\n    test_client()\n"}, tmp_path)
    assert wants_tests(text, workspace) is tests
