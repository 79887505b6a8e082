"""Runs the git program. No other module does.

A repository's configuration can name programs that git runs, and anybody may have written it. Here git runs none: only
commands that print objects are used, every setting that names a program is overridden, and no transport is allowed.
Winnow reads files of the working tree by itself, because git would pass them through filters.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from winnow_engine.core import Cancellation
from winnow_engine.errors import GitError, GitMissingError, NotARepositoryError, UntrustedRepositoryError
from winnow_engine.platform import program_in
from winnow_engine.untrusted import printable

_TIMEOUT_S = 60.0
_POLL_S = 0.05

# `-c` wins over every file, also over those that the repository's configuration includes.
_OVERRIDDEN = {
    "core.fsmonitor": "",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.bigFileThreshold": "1m",  # larger files are not compared line by line
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "diff.external": "",
    "diff.orderFile": os.devnull,
    "log.showSignature": "false",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    # What changes what commands print.
    "diff.relative": "false",
    "grep.column": "false",
    "grep.fullName": "false",
    "grep.lineNumber": "false",
    "log.follow": "false",
    "log.showRoot": "true",
}
_OPTIONS = ("--no-pager", *(part for key, value in _OVERRIDDEN.items() for part in ("-c", f"{key}={value}")))

# The commands in use, each with what keeps it from running the drivers of diff.*.command and diff.*.textconv, which
# have names that nobody knows beforehand. filter.* is run by what reads the working tree or writes to it: no command
# here does, as long as `diff-index` has --cached, and `blame` a revision and no --contents.
_NO_DRIVERS = ("--no-ext-diff", "--no-textconv")
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "blame": ("--no-textconv",),
    "cat-file": (),
    "config": (),
    "diff-index": _NO_DRIVERS,
    "diff-tree": _NO_DRIVERS,
    "for-each-ref": (),
    "grep": ("--no-textconv", "--no-ext-grep", "--no-color"),
    "log": (*_NO_DRIVERS, "--no-show-signature"),
    "ls-files": (),
    "ls-tree": (),
    "merge-base": (),
    "rev-list": (),
    "rev-parse": (),
    "symbolic-ref": (),
}

# What else of the environment begins with GIT_ redirects git, or names programs too. Settings in it are the user's, as
# those of files are; overridden ones win over them.
_KEPT = re.compile(
    "GIT_(CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM|EXEC_PATH"
    "|CONFIG_(GLOBAL|NOSYSTEM|SYSTEM|PARAMETERS|COUNT|KEY_[0-9]+|VALUE_[0-9]+))$"
)
_SET = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ASKPASS": "false",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",  # a name may begin with a colon
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_SSH_COMMAND": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "SSH_ASKPASS": "false",
}


@dataclass(frozen=True, slots=True)
class Git:
    """The git program, run in a directory, where `index` replaces what is staged. Only listed commands can be run."""

    directory: Path
    cancellation: Cancellation = field(default_factory=Cancellation)
    index: Path | None = None

    def run(self, *arguments: str, stdin: bytes = b"", timeout_s: float = _TIMEOUT_S) -> bytes:
        """Standard output of a command. Raises GitError of the kind that its complaint means, and CancelledError."""
        status, output, complaint = self.outcome(*arguments, stdin=stdin, timeout_s=timeout_s)
        if status:
            raise failure(self.directory, arguments, complaint)
        return output

    def outcome(self, *arguments: str, stdin: bytes = b"", timeout_s: float = _TIMEOUT_S) -> tuple[int, bytes, str]:
        """Exit status, output and complaint of a command. GitError if it takes more than `timeout_s` seconds."""
        status, output, complaint = self._ran(arguments, stdin, timeout_s)
        if status is None:
            raise GitError(f"`git {arguments[0]}` took longer than {timeout_s:g} s and was ended: try again")
        return status, output, complaint

    def partial_output(self, *arguments: str, timeout_s: float, highest: int = 0) -> tuple[bytes, bool]:
        """Output of a command until it ends or is stopped, and True if it ended with `highest` at most."""
        status, output, _ = self._ran(arguments, b"", timeout_s)
        return output, status is not None and 0 <= status <= highest

    def fields(self, *arguments: str, stdin: bytes = b"", timeout_s: float = _TIMEOUT_S) -> list[bytes]:
        """Fields of a command's output, each of which ends with NUL."""
        output = self.run(*arguments, stdin=stdin, timeout_s=timeout_s)
        return output.removesuffix(b"\0").split(b"\0") if output else []

    def _ran(self, arguments: Sequence[str], stdin: bytes, timeout_s: float) -> tuple[int | None, bytes, str]:
        """Exit status, None if the command was stopped after `timeout_s`; standard output and standard error."""
        environment = environment_for_git(os.environ)
        if self.index is not None:
            environment["GIT_INDEX_FILE"] = str(self.index)
        name, *rest = arguments
        command = [_program(environment["PATH"]), *_OPTIONS, name, *_COMMANDS[name], *rest]
        try:
            with _readable(stdin) as given:
                process = subprocess.Popen(
                    command,
                    cwd=self.directory,
                    env=environment,
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            raise GitError(f"git cannot be run in {self.directory}: {error}") from error
        with process:
            try:
                in_time = self._wait(process, timeout_s)
            finally:
                _end(process)
            output, complaint = process.communicate()
        return process.returncode if in_time else None, output, complaint.decode("utf-8", "replace")

    def _wait(self, process: subprocess.Popen[bytes], timeout_s: float) -> bool:
        """True if a command ended within `timeout_s`. Its output is kept for the next `communicate`."""
        latest = time.monotonic() + timeout_s
        while time.monotonic() <= latest:
            self.cancellation.check()
            try:
                process.communicate(timeout=_POLL_S)
                return True
            except subprocess.TimeoutExpired:
                pass
        return False


def environment_for_git(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment less what redirects git or names programs for it. PATH has absolute folders only."""
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_") or _KEPT.match(name)}
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    return kept | _SET | {"PATH": path}


def failure(directory: Path, arguments: Sequence[str], complaint: str) -> GitError:
    """The error that git's own words on standard error mean."""
    if "dubious ownership" in complaint or "unsafe repository" in complaint:
        owned = next(iter(complaint.split("'")[1:-1]), "") or directory
        return UntrustedRepositoryError(
            f"the repository of {directory} belongs to another user, so git does not read it: if you trust it, run "
            f"`git config --global --add safe.directory {owned}`"
        )
    if "not a git repository" in complaint:
        return NotARepositoryError(f"{directory} lies in no git repository: changes are known of repositories only")
    if "promisor remote" in complaint:
        return GitError(f"the partial clone in {directory} lacks files: run `git show` or `git diff`, which fetch them")
    said = next(iter(complaint.strip().splitlines()[-1:]), "it says nothing").removeprefix("fatal: ")
    return GitError(f"`git {arguments[0]}` failed in {directory}: {printable(said)}")


@contextmanager
def _readable(data: bytes) -> Iterator[int]:
    """A file with some bytes, to start a process with. Python's `communicate` writes no more after its time is up."""
    if not data:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file.fileno()


def _program(path: str) -> str:
    found = program_in(filter(None, path.split(os.pathsep)), "git")
    if found is None:
        raise GitMissingError("there is no git program on the PATH: install git to ask about changes and history")
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
