"""Commands with standard streams that are closed, full, in another encoding, or without a reader."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXPLAIN = ("index", "--explain", "é中.py")


def run(*arguments: str, cwd: Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | {"WINNOW_CACHE_DIR": str(cwd / "cache")} | options.pop("env", {})
    command = [sys.executable, "-m", "winnow_lsp", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, timeout=60, check=False, **options)


@pytest.mark.parametrize("arguments", [("--help",), ("models", "list"), ("doctor",), EXPLAIN])
def test_a_reader_that_leaves_ends_a_command_like_sigpipe(arguments: tuple[str, ...], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run(*arguments, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_is_an_error_in_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run(*EXPLAIN, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"winnow: cannot write the output: No space left on device\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    command = f"{sys.executable} -m winnow_lsp index --explain a.py {closed}"
    assert subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, timeout=60, check=False).returncode == 0


def test_a_terminal_without_a_width_shows_tables(tmp_path: Path) -> None:
    assert b"smollm2-135m" in run("models", "list", cwd=tmp_path, env={"COLUMNS": "0"}, stdout=subprocess.PIPE).stdout


def test_an_interrupt_while_modules_load_is_no_traceback(tmp_path: Path) -> None:
    """Python's own start cannot be helped."""
    slow = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    (tmp_path / "click.py").write_text(slow)
    heeds = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"  # if we run in the background
    )
    code = f"{heeds}; sys.path.insert(0, {str(tmp_path)!r}); from winnow_lsp.__main__ import run; run()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


@pytest.mark.parametrize(
    ("environment", "shown"),
    [
        ({"PYTHONIOENCODING": "latin-1"}, b"\xe9\\u4e2d.py"),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "é中.py".encode()),
    ],
)
def test_names_are_utf8_whatever_is_shown(environment: dict[str, str], shown: bytes, tmp_path: Path) -> None:
    (tmp_path / "é中.py").write_text("x = 1")
    done = run(*EXPLAIN, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, shown + b": counts: no rule leaves it out\n")
    told = run(*EXPLAIN, "--json", cwd=tmp_path, env=environment, stdout=subprocess.PIPE).stdout
    assert json.loads(told)["path"] == "é中.py"


@pytest.mark.parametrize("piped", [False, True])
def test_the_language_server_takes_files_for_its_streams(piped: bool, tmp_path: Path) -> None:
    session = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in session]
    recorded = tmp_path / "session"
    recorded.write_bytes(b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies))
    with recorded.open("rb") as file, (tmp_path / "out").open("wb") as out:
        given: dict[str, Any] = {"input": recorded.read_bytes()} if piped else {"stdin": file}
        assert run("serve", cwd=tmp_path, stdout=out, **given).returncode == 0
    assert (tmp_path / "out").read_bytes().count(b"Content-Length") == 2
