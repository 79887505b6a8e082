import os
import sys
import time
from pathlib import Path

import git_repositories as git
import pytest

from winnow_engine.core import Cancellation
from winnow_engine.errors import (
    CancelledError,
    GitError,
    GitMissingError,
    NotARepositoryError,
    UntrustedRepositoryError,
)
from winnow_engine.git import program
from winnow_engine.git.program import Git, environment_for_git
from winnow_engine.git.repository import open_repository


def test_no_git_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git.new(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitMissingError, match="install git"):
        open_repository(tmp_path)


def test_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(NotARepositoryError, match="in no git repository"):
        open_repository(tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="cannot be run"):
        open_repository(tmp_path / "missing")


def test_a_repository_of_somebody_else_is_named_with_the_command_that_trusts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git.new(tmp_path)
    for name, value in git.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(program, "_SET", {**program._SET, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    with pytest.raises(UntrustedRepositoryError, match=f"safe.directory {tmp_path}`"):
        open_repository(tmp_path)
    trusting = tmp_path / "gitconfig"
    trusting.write_text(f"[safe]\n    directory = {tmp_path}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(trusting))
    assert open_repository(tmp_path).head() is None


def test_a_damaged_configuration_is_reported_in_gits_words(tmp_path: Path) -> None:
    git.new(tmp_path)
    (tmp_path / ".git" / "config").write_text("[core\n")
    with pytest.raises(GitError, match="bad config line 1"):
        open_repository(tmp_path)


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = _slow_git(tmp_path, monkeypatch)
    with pytest.raises(GitError, match=r"`git rev-parse` took longer than 0.2 s"):
        Git(tmp_path).run("rev-parse", "HEAD", timeout_s=0.2)
    _assert_ended(slow)


def test_what_a_command_printed_before_it_was_ended_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = _slow_git(tmp_path, monkeypatch, "found")
    assert Git(tmp_path).partial_output("log", timeout_s=2.0) == (b"found", False)
    _assert_ended(slow)


def test_a_command_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, cancellation = _slow_git(tmp_path, monkeypatch), Cancellation()
    cancellation.cancel()
    with pytest.raises(CancelledError):
        Git(tmp_path, cancellation).run("rev-parse", "HEAD")
    _assert_ended(slow)


def test_large_input_and_output_do_not_block(tmp_path: Path) -> None:
    git.commit(git.new(tmp_path), "one", {"a": "x" * 1_000_000})
    asked = b"HEAD:a\n" * 20
    assert len(Git(tmp_path).run("cat-file", "--batch", stdin=asked)) > 20_000_000


def test_a_git_that_is_slow_to_read_gets_all_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text(
        f"#!{sys.executable}\nimport sys,time\ntime.sleep(0.3)\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n"
    )
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    asked = bytes(1_000_000)  # more than a pipe holds
    assert Git(tmp_path).run("cat-file", "--batch", stdin=asked, timeout_s=30) == asked


def test_variables_that_redirect_git_do_not_reach_it(tmp_path: Path) -> None:
    given = {"GIT_DIR": "/x", "GIT_INDEX_FILE": "/y", "GIT_TRACE": "1", "GIT_CONFIG": "/z", "HOME": "/h"}
    found = environment_for_git({**given, "PATH": "/bin:.:relative::/usr/bin"})
    assert not {"GIT_DIR", "GIT_INDEX_FILE", "GIT_TRACE", "GIT_CONFIG"} & set(found)
    assert (found["HOME"], found["PATH"]) == ("/h", "/bin:/usr/bin")


def _slow_git(folder: Path, monkeypatch: pytest.MonkeyPatch, prints: str = "") -> Path:
    """A git that prints, starts a process of its own and waits for it; returns where that one writes its number."""
    number = folder / "number"
    (folder / "git").write_text(
        f'#!/bin/sh\nprintf "%s" "{prints}"\n/bin/sleep 600 &\n'
        f'echo $! >"{number}.new"\n/bin/mv "{number}.new" "{number}"\nwait\n'
    )
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return number


def _assert_ended(number: Path) -> None:
    """That the process which the slow git started has ended, if it came to starting one."""
    if not number.exists():
        return
    process = int(number.read_text())
    for _ in range(1200):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    os.kill(process, 9)
    raise AssertionError("what git started is still running")
