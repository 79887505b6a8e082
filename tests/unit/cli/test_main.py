import errno
import importlib.util
import subprocess
import sys
from pathlib import Path

import click
import pytest

from winnow_engine import errors
from winnow_lsp.cli import main as module
from winnow_lsp.cli.main import main


def raising(error: BaseException) -> click.Command:
    @click.command()
    def boom() -> None:
        raise error

    return boom


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.TargetError("it broke"), 1),
        (errors.BudgetError("too long"), 2),
        (errors.PositionError("no such line"), 2),
        (errors.ModelNotFoundError("none"), 3),
        (errors.ModelDamagedError("half"), 3),
        (errors.UnsupportedModelError("odd"), 3),
        (errors.DownloadError("offline"), 3),
        (errors.ProfileError("odd"), 3),
        (errors.WorkspaceError("gone"), 4),
        (errors.CancelledError("cancelled"), 130),
        (OSError(errno.ENOSPC, "No space left on device"), 1),
        (PermissionError(errno.EACCES, "Permission denied", "file"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_error_has_its_exit_code(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module.LazyGroup, "get_command", lambda *_: raising(error))
    assert main(["ask"]) == code
    captured = capsys.readouterr()
    assert captured.err.strip().startswith("winnow: ")
    assert not captured.out


def test_a_working_directory_that_is_gone_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["spans", "x"]) == 1
    assert capsys.readouterr().err == "winnow: the working directory is gone: change to one that is there\n"


def test_an_error_that_nobody_foresaw_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.LazyGroup, "get_command", lambda *_: raising(OSError(errno.EBADF, "ours")))
    with pytest.raises(OSError, match="ours"):
        main(["ask"])


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["asks"], ["ask"], ["ask", "x", "--budget", "0"], ["spans", "x", "--budget", "200%"]]
)
def test_usage_errors_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert "Usage:" in said
    assert ("Did you mean 'ask'?" in said) is (arguments == ["asks"])


def test_help_lists_every_command_without_loading_numpy() -> None:
    call = "from winnow_lsp.cli.main import main; code = main(['--help'])"
    check = f"import sys; {call}; sys.exit(code or 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("ask", "spans", "index", "models", "doctor"))


def test_a_command_that_asks_a_server_loads_neither_parsers_nor_models() -> None:
    check = "import sys, winnow_lsp.cli.history; sys.exit(bool({'tree_sitter', 'llama_cpp'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.parametrize("command", ["bench", "train", "calibrate"])
def test_without_the_research_its_commands_say_what_to_install(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "winnow_research" else real(name))
    assert main([command]) == 1
    assert "pip install -e ./engine/winnow_research" in capsys.readouterr().err
    assert main(["--help"]) == 0
    assert f"\n  {command} " not in capsys.readouterr().out
