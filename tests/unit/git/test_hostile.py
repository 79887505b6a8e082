"""A repository whose configuration, attributes and hooks run programs runs none of them when Winnow reads it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import git_repositories as git
import pytest

from winnow_engine.errors import GitError
from winnow_engine.git.objects import blobs, commits, newest_commits, touching_commits
from winnow_engine.git.program import Git
from winnow_engine.git.repository import open_repository
from winnow_engine.git.trees import index_files, staged_changes, tree_changes, tree_files
from winnow_engine.history.finding import rank_commits

SOON_S = 20  # git alone would be waited for a minute

_CONFIG = """
[core]
    fsmonitor = {trap}fsmonitor
    hooksPath = {hooks}
    pager = {trap}pager
    editor = {trap}editor
    askPass = {trap}askpass
    sshCommand = {trap}ssh
    gitProxy = {trap}proxy
    alternateRefsCommand = {trap}alternates
    attributesFile = {hooks}/attributes
[diff]
    external = {trap}external
    orderFile = /nonexistent/order
[diff "evil"]
    command = {trap}command
    textconv = {trap}textconv
[diff "python"]
    command = {trap}builtin
    textconv = {trap}builtin
[diff "winnow"]
    command = {trap}builtin
    textconv = {trap}builtin
[filter "evil"]
    clean = {trap}clean
    smudge = {trap}smudge
    process = {trap}process
    required = true
[merge "evil"]
    driver = {trap}merge
[log]
    showSignature = true
[gpg]
    program = {trap}gpg
[gpg "ssh"]
    program = {trap}gpgssh
[gpg "x509"]
    program = {trap}gpgx509
[credential]
    helper = {trap}credential
[alias]
    rev-parse = !{trap}alias
    cat-file = !{trap}alias
[include]
    path = {hooks}/included
[remote "origin"]
    url = ext::{trap}remote
    promisor = true
    partialclonefilter = blob:none
[submodule]
    recurse = true
[submodule "sub"]
    url = ext::{trap}submodule
    update = !{trap}update
"""
_SIGNED = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n"


class Traps:
    """Programs that leave their name when they run."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._marks = folder, folder / "marks"
        self._marks.mkdir(parents=True)

    def named(self, name: str, path: Path | None = None) -> Path:
        """The program with this name, at this path or among all traps."""
        path = path or self._folder / name
        path.write_text(f'#!/bin/sh\n: > "{self._marks}/{name}"\n')
        path.chmod(0o755)
        return path

    def sprung(self) -> set[str]:
        """The names of those that ran."""
        return {mark.name for mark in self._marks.iterdir()}

    def config(self) -> str:
        """Settings with all the traps, and a folder with hooks, attributes and settings to include."""
        hooks = self._folder / "hooks"
        hooks.mkdir()
        for name in ("post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman", "pre-commit"):
            self.named("hook", hooks / name)
        (hooks / "attributes").write_text("* diff=evil filter=evil merge=evil\n")
        (hooks / "included").write_text(f"[core]\n    fsmonitor = {self.named('included')}\n")
        settings = re.sub(r"\{trap\}(\w+)", lambda match: str(self.named(match[1])), _CONFIG)
        return settings.replace("{hooks}", str(hooks))


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, Traps]:
    """A repository with a signed commit, a change that is staged and one that is not, and all the traps."""
    top = git.new(tmp_path / "repository")
    git.commit(top, "one", {"a.py": "def a():\n    return 1\n", "sub/b.py": "B = 1\n" * 50})
    git.commit(
        top, "two", {"a.py": "def a():\n    return 2\n", ".gitattributes": "* diff=evil filter=evil merge=evil\n"}
    )
    raw = git.git(top, "cat-file", "commit", "HEAD")
    signed = raw.replace(b"\n\n", b"\n" + _SIGNED + b"\n", 1)
    made = git.git(top, "hash-object", "-t", "commit", "-w", "--stdin", stdin=signed).decode().strip()
    git.git(top, "reset", "--quiet", "--soft", made)
    git.write(top, {"c.py": "C = 1\n"})
    git.git(top, "add", "c.py")
    git.git(top, "mv", "sub/b.py", "sub/renamed.py")
    git.write(top, {"a.py": "def a():\n    return 3\n"})
    traps = Traps(tmp_path / "traps")
    with (top / ".git" / "config").open("a") as config:
        config.write(traps.config())
    (top / ".git" / "info" / "attributes").write_text("* diff=evil filter=evil merge=evil\n")
    return top, traps


def _run_by_hand(top: Path, *arguments: str) -> None:
    environment = os.environ | git.ENVIRONMENT | {"GIT_ALLOW_PROTOCOL": "ext:file"}
    subprocess.run(
        ["git", "-c", "diff.orderFile=/dev/null", *arguments],
        cwd=top,
        capture_output=True,
        env=environment,
        check=False,
    )


_UNFILTERED = ["-c", "core.fsmonitor=", "-c", "filter.evil.process=", "-c", "filter.evil.required=false"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["status"], "included"),
        (["-c", "core.fsmonitor=", "diff"], "process"),
        ([*_UNFILTERED, "diff", "--cached"], "command"),
        ([*_UNFILTERED, "diff", "--cached", "--no-ext-diff"], "textconv"),
        (["log", "-1"], "gpg"),
        ([*_UNFILTERED, "add", "a.py"], "hook"),
        (["cat-file", "-p", "1" * 40], "remote"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_the_traps_work(hostile: tuple[Path, Traps], arguments: list[str], expected: str) -> None:
    top, traps = hostile
    _run_by_hand(top, *arguments)
    assert expected in traps.sprung()


def test_nothing_runs(hostile: tuple[Path, Traps], monkeypatch: pytest.MonkeyPatch) -> None:
    top, traps = hostile
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "PAGER"):
        monkeypatch.setenv(name, str(traps.named("environment")))
    repository = open_repository(top)
    head = repository.commit("HEAD")
    (now,) = commits(repository.git, [head])
    changed = [*tree_changes(repository, now.parents[0], head), *staged_changes(repository, head)]
    listed = [*tree_files(repository, head), *index_files(repository)]
    found = blobs(repository.git, [entry.blob for entry in listed] + [change.after_blob or "" for change in changed])
    assert {change.path for change in changed} == {".gitattributes", "a.py", "c.py", "sub/renamed.py"}
    assert b"def a():\n    return 2\n" in found.values()
    assert traps.sprung() == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ("log", "-p", "-z"),
        ("log", "-z", "--name-only", "--format=", "--no-renames", "--diff-filter=d", "--relative", "-100"),
        ("log", "-S", "return", "-z", "--format=%H"),
        ("log", "-L", "1,2:a.py"),
        ("blame", "--porcelain", "-M", "-C", "-w", "HEAD", "--", "a.py"),
        ("diff-tree", "-p", "HEAD~1", "HEAD"),
        ("diff-index", "--cached", "-p", "HEAD"),
        ("ls-files", "-z"),
        ("rev-list", "--objects", "--missing=allow-any", "HEAD"),
        ("for-each-ref",),
        ("grep", "-l", "-z", "-w", "-F", "-e", "return", "HEAD"),
        ("cat-file", "--batch-all-objects", "--batch-check"),
    ],
    ids=" ".join,
)
def test_no_command_of_the_table_runs_anything(hostile: tuple[Path, Traps], arguments: tuple[str, ...]) -> None:
    top, traps = hostile
    assert Git(top).run(*arguments)
    assert traps.sprung() == set()


@pytest.mark.parametrize("driver", ["evil", "python"])
def test_searching_what_commits_changed_runs_nothing(hostile: tuple[Path, Traps], driver: str) -> None:
    top, traps = hostile
    for place in (top / ".gitattributes", top / ".git" / "info" / "attributes"):
        place.write_text(f"* diff={driver} filter=evil\n")
    repository = open_repository(top)
    tip = repository.commit("HEAD")
    assert [one.message for one in newest_commits(repository, tip, 100)] == ["two\n", "one\n"]
    for search in (("-Sreturn", "--"), ("-L1,2:a.py",), ("--follow", "--", "a.py")):
        assert touching_commits(repository, tip, search, 60.0)[0]
    assert rank_commits(repository, "When did `a.py` change, and `wait`?", 3)[0]
    assert traps.sprung() == set()
    _run_by_hand(top, *_UNFILTERED, "log", "-p", "--no-ext-diff")
    assert traps.sprung() & {"textconv", "builtin"}


def test_nothing_is_fetched_for_a_missing_object(hostile: tuple[Path, Traps]) -> None:
    top, traps = hostile
    assert blobs(Git(top), ["1" * 40]) == {}
    with pytest.raises(GitError):
        Git(top).run("cat-file", "-p", "1" * 40)
    assert traps.sprung() == set()


def test_a_repositorys_git_is_not_the_program(hostile: tuple[Path, Traps], monkeypatch: pytest.MonkeyPatch) -> None:
    top, traps = hostile
    traps.named("git", top / "git")
    monkeypatch.chdir(top)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    assert not open_repository(top).bare
    assert traps.sprung() == set()


IN_GIT = ("HEAD", "config", "index", "packed-refs", "commondir", "refs/heads/main", "objects/info/alternates")
IN_TREE = (".gitattributes", "sub/.gitattributes", ".mailmap", ".git/info/exclude")


@pytest.mark.parametrize("name", [*(f".git/{name}" for name in IN_GIT), *IN_TREE])
def test_a_fifo_that_git_would_wait_for_is_told_at_once(tmp_path: Path, name: str) -> None:
    top = git.new(tmp_path / "repository")
    git.commit(top, "one", {"sub/a.py": "A = 1\n"})
    (top / name).unlink(missing_ok=True)
    os.mkfifo(top / name)
    began = time.monotonic()
    with pytest.raises(GitError, match=f"git cannot read .*{name}: it is a FIFO"):
        open_repository(top / "sub")
    assert time.monotonic() - began < SOON_S


def test_a_fifo_in_a_worktrees_directories_is_told_at_once(tmp_path: Path) -> None:
    top = git.new(tmp_path / "repository")
    git.commit(top, "one", {"a.py": "A = 1\n"})
    git.git(top, "worktree", "add", "--quiet", str(tmp_path / "other"))
    assert open_repository(tmp_path / "other").head()
    (top / ".git" / "config").unlink()
    os.mkfifo(top / ".git" / "config")
    with pytest.raises(GitError, match="config: it is a FIFO"):
        open_repository(tmp_path / "other")


def test_a_folder_that_git_would_take_for_a_bare_repository_and_wait_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "HEAD")
    with pytest.raises(GitError, match="HEAD: it is a FIFO"):
        open_repository(tmp_path)


def test_a_fifo_that_the_configuration_includes_is_a_short_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = git.new(tmp_path / "repository")
    git.git(top, "config", "include.path", "included")
    os.mkfifo(top / ".git" / "included")
    monkeypatch.setattr("winnow_engine.git.repository._QUICK_S", 0.3)
    with pytest.raises(GitError, match=r"took longer than 0\.3 s"):
        open_repository(top)


def test_other_commands_are_refused(hostile: tuple[Path, Traps]) -> None:
    with pytest.raises(KeyError):
        Git(hostile[0]).run("status")
