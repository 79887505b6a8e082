"""What a question of the command line is made of: words, piped text, a place, a repository."""

import os
import subprocess
from contextlib import closing
from pathlib import Path, PureWindowsPath
from typing import Any

import click
import pytest
from click.testing import CliRunner

from winnow_engine.errors import CancelledError
from winnow_engine.question import Question, Turn
from winnow_lsp.cli import ask, in_process
from winnow_lsp.cli.ask import chosen_question, keep_turns, last_turns, spans
from winnow_lsp.cli.options import cursor_of, folders_of, question_of
from winnow_lsp.cli.shared_server import AnsweringServer
from winnow_lsp.client.connection import Listener

TRACE = "Traceback: XYZZY\n"


def asked(
    text: str | None, given: bytes, monkeypatch: pytest.MonkeyPatch, changes: str | None = None, root: Path = Path()
) -> Question:
    reader, writer = os.pipe()
    os.write(writer, given)
    os.close(writer)
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        return question_of(text, {"changes": changes, "at": None, "workspace": (str(root),)}, reads_input=True)


@pytest.mark.parametrize(
    ("text", "given", "changes", "whole"),
    [
        ("Why?", b"\x1b[1;31mTraceback\x1b[m: \x1b]8;;a:b\x1b\\XYZZY\x1b]8;;\x07\n", None, f"Why?\n\n```\n{TRACE}```"),
        ("Why?", b"a\n```\nb", None, "Why?\n\n````\na\n```\nb\n````"),
        ("Why?", "café".encode("cp1252"), None, "Why?\n\n```\ncafé\n```"),
        ("Why?", "café\r\n".encode("utf-16"), None, "Why?\n\n```\ncafé\n```"),
        ("Why?", b"", None, "Why?"),
        ("Why?", b" \n", None, "Why?"),
        ("-", b"Where?\n", None, "Where?\n"),
        (None, b"Where?\n", None, "Where?\n"),
        (None, TRACE.encode(), "Could it fail?", f"Could it fail?\n\n```\n{TRACE}```"),
    ],
)
def test_piped_text_belongs_to_the_question(
    text: str | None, given: bytes, changes: str | None, whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = asked(text, given, monkeypatch, changes)
    assert (question.text, question.changes) == (whole, "working" if changes else None)


@pytest.mark.parametrize(
    ("text", "given", "named"),
    [
        ("Why?", "src/index.ts(2,5): error TS2304", "{}(2,5): error TS2304"),
        ("Why?", "at run (./src/index.ts:2:5)", "at run ({}:2:5)"),
        ("Why?", "ERROR in ./src/index.ts 2:5-9", "ERROR in {} 2:5-9"),
        ("Why?", "../b/b.ts:1:1\n'src/index.ts', line 2", "packages/b/b.ts:1:1\n'{}', line 2"),
        ("Why?", "src/(shop)/[id].ts:1", "packages/a/src/(shop)/[id].ts:1"),
        (
            "Why?",
            "/x/src/index.ts:2 b.ts:1 import './src/index.ts'",
            "/x/src/index.ts:2 b.ts:1 import './src/index.ts'",
        ),
        ("Why?", "src/index.ts\n2:stop()\n", "{}\n2:stop()"),
        ("What is src/index.ts, or src/index.tsx?", "", "What is {}, or src/index.tsx?"),
        ("What is in src/index.ts.", "", "What is in {}."),
        ("src/index.tsはどこ?", "", "{}はどこ?"),
        *((junk * 100_000 + " src/index.ts?", "", " {}?") for junk in ("a[", "/(a)", "x.[", "[[a]]")),  # in linear time
        ('What is open("src/index.ts")?', "", 'What is open("src/index.ts")?'),
    ],
)
def test_a_path_from_the_working_directory_is_one_in_its_package(
    text: str, given: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a/src/index.ts", "a/src/(shop)/[id].ts", "b/src/index.ts", "b/b.ts"):
        (tmp_path / "packages" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "packages" / path).write_text("start()\nstop()\n")
    monkeypatch.chdir(tmp_path / "packages" / "a")
    question = asked(text, given.encode(), monkeypatch, root=tmp_path)
    assert named.format("packages/a/src/index.ts") in question.text
    assert asked(text, given.encode(), monkeypatch).text.count("packages/a") == 0


def test_a_pipe_in_which_nothing_begins_is_given_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("winnow_lsp.cli.options._FIRST_BYTE_S", 0.01)
    reader, writer = os.pipe()
    with os.fdopen(reader) as stdin, os.fdopen(writer, "w"):
        monkeypatch.setattr("sys.stdin", stdin)
        options = {"changes": None, "at": None, "workspace": (".",)}
        assert question_of("Why?", options, reads_input=True).text == "Why?"
    assert "nothing was piped in" in capsys.readouterr().err


def test_more_than_a_question_can_have_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow_lsp.cli.options._MOST_INPUT", 10)
    assert asked("Why?", b"0123456789", monkeypatch).text.endswith("0123456789\n```")
    with pytest.raises(click.UsageError, match=r"more than 10 bytes were piped in.*`tail -c 10000`"):
        asked("Why?", b"0123456789a", monkeypatch)


@pytest.mark.parametrize(
    ("given", "question"),
    [
        (b"2\n", "Where does it start?"),
        (b"7\n0\n1\n", "What does this repository do?"),
        (b"Where are prices?\n", "Where are prices?"),
    ],
)
def test_a_terminal_is_offered_questions_to_begin_with(
    given: bytes, question: str, typed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "README.md").write_text("# Shop\n")
    (tmp_path / "shop" / "main.py").write_text("def main():\n    print('open')\n\n\nmain()\n")
    os.write(typed, given + b"\x04")  # the end, so that a question which is not offered is an error
    assert chosen_question({"workspace": (str(tmp_path / "shop"),), "settings": {}}) == question


@pytest.mark.parametrize(("read", "whole"), [(0, "Why?\n\n```\nWhy?\nWhere?\n```"), (5, "Why?"), (12, "Why?")])
def test_a_file_that_another_program_reads_is_left_to_it(
    read: int, whole: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `while read question; do winnow ask "$question"; done < questions`."""
    (tmp_path / "questions").write_text("Why?\nWhere?\n")
    with (tmp_path / "questions").open() as stdin:
        os.lseek(stdin.fileno(), read, os.SEEK_SET)
        monkeypatch.setattr("sys.stdin", stdin)
        options = {"changes": None, "at": None, "workspace": (".",)}
        assert question_of("Why?", options, reads_input=True).text == whole


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ("a.py:3", (3, 3)),
        ("a.py:3:7", (3, 3)),
        ("a.py:3:7:", (3, 3)),
        ("a.py:3-5", (3, 5)),
        ("a.py:3:7-5:1", (3, 5)),
        ("a.py#L3", (3, 3)),
        ("a.py#L3-L5", (3, 5)),
    ],
)
def test_places_are_taken_as_other_programs_write_them(place: str, lines: tuple[int, int], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    cursor = cursor_of(place, folders_of({"workspace": (str(tmp_path),)}))
    assert cursor is not None
    assert (cursor.path, cursor.start_line, cursor.end_line) == ("a.py", *lines)


def workspace(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Path:
    monkeypatch.chdir(folder)
    return Path(spans.make_context("spans", ["Where?", *arguments]).params["workspace"][0]).resolve()


def test_the_repository_is_the_workspace_from_a_folder_that_counts_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    top = tmp_path / "top"
    for name in ("src/deep", "ignored", "own/sub", "node_modules/x"):
        (top / name).mkdir(parents=True)
    subprocess.run(["git", "init", "-q", top], check=True)
    (top / ".gitignore").write_text("ignored/")
    (top / "own" / ".git").write_text("gitdir: elsewhere")
    assert workspace(top, monkeypatch) == top
    assert not capsys.readouterr().err
    assert workspace(top / "src" / "deep", monkeypatch) == top
    assert capsys.readouterr().err.splitlines() == [
        f"winnow: the workspace is the repository {top}; -w . for this folder alone"
    ]
    assert workspace(top / "src", monkeypatch, "-w", ".") == top / "src"
    assert workspace(top / "ignored", monkeypatch) == top / "ignored"
    assert workspace(top / "node_modules" / "x", monkeypatch) == top / "node_modules" / "x"
    assert workspace(top / "own" / "sub", monkeypatch) == top / "own"
    monkeypatch.setenv("HOME", str(top))  # a repository of the user's settings
    assert workspace(top / "src", monkeypatch) == top / "src"
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(click.UsageError, match="whole disk"):
        workspace(Path("/"), monkeypatch)
    monkeypatch.setattr("winnow_lsp.cli.options.user", lambda: os.getuid() + 1)
    monkeypatch.setattr(Path, "stat", _owned_by_another(top / ".git"))
    assert workspace(top / "src", monkeypatch) == top / "src"


def test_a_disk_without_the_home_is_a_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = "P:/"
    windows = type("Path", (PureWindowsPath,), {"cwd": classmethod(lambda cls: cls(folder))})
    monkeypatch.setattr("os.path.realpath", str)
    for module in ("cli.options", "host.roots"):
        monkeypatch.setattr(f"winnow_lsp.{module}.Path", windows)
    monkeypatch.setattr("winnow_lsp.host.roots.home", lambda: windows("C:/Users/Me"))
    monkeypatch.setattr("winnow_lsp.cli.options.top_above", lambda _: None)
    assert spans.make_context("spans", ["Where?"]).params["workspace"] == ("P:\\",)
    folder = "C:/"
    with pytest.raises(click.UsageError, match="whole disk"):
        spans.make_context("spans", ["Where?"])


def _owned_by_another(path: Path) -> Any:
    real = Path.stat

    def stat(self: Path, **options: Any) -> os.stat_result:
        found = real(self, **options)
        return os.stat_result((*found[:4], found.st_uid + 7, *found[5:])) if self == path else found

    return stat


@pytest.mark.parametrize("setting", [{}, {"cacheMegabytes": 0}])
def test_the_last_conversation_about_a_workspace_is_kept(
    setting: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    here, there = ({"workspace": (str(tmp_path / name),), "settings": setting} for name in "ab")
    keep_turns(Question("Where?"), "There.", here)
    if setting:
        with pytest.raises(click.UsageError, match="no conversation"):
            last_turns(here)
        return
    assert last_turns(here) == (Turn("Where?", "There."),)
    keep_turns(Question("And why?", earlier=last_turns(here)), "So.", here)
    assert last_turns(here) == (Turn("Where?", "There."), Turn("And why?", "So."))
    with pytest.raises(click.UsageError, match="no conversation"):
        last_turns(there)


def test_a_follow_up_of_a_stopped_answer_knows_the_part_that_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(ask, "with_target", lambda options: options)

    def answer(_server: Any, _folders: Any, _asked: Any, listener: Listener, _cancellation: Any) -> None:
        listener.on_text("It is in ")
        raise CancelledError

    monkeypatch.setattr(AnsweringServer, "answer", answer)
    done = CliRunner().invoke(ask.ask, ["Where?", "-w", str(tmp_path)])
    assert isinstance(done.exception, CancelledError)
    assert last_turns({"workspace": (str(tmp_path),)}) == (Turn("Where?", "It is in "),)


def test_a_client_learns_that_no_server_could_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(in_process, "check_models", lambda _: None)
    monkeypatch.setattr(in_process, "server_maker", lambda *_: lambda: 1 / 0)
    with closing(in_process.OwnServer(in_process.ModelConfig())) as server, closing(server.connect()) as connected:
        connected.settimeout(60)
        assert connected.recv(1) == b""
