"""Processes of a user whose shared server and cache are the tests' own."""

import os
import subprocess
import sys
from pathlib import Path

PATIENCE_S = 300


class User:
    """Runs commands in an environment of its own, and `more` variables. The server's sockets lie in `sockets`."""

    def __init__(self, cache: Path, runtime: Path, **more: str) -> None:
        own = {"WINNOW_CACHE_DIR": str(cache), "XDG_RUNTIME_DIR": str(runtime), "WINNOW_SERVER": "1"}
        self.environment, self.sockets = {**os.environ, **own, **more}, runtime / "winnow"
        self._started: list[subprocess.Popen[str]] = []

    @staticmethod
    def command(*arguments: str) -> list[str]:
        """The command line of a `winnow` command."""
        return [sys.executable, "-m", "winnow_lsp", *arguments]

    def run(self, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """A command that has ended, with `given` on its standard input."""
        return subprocess.run(
            self.command(*arguments),
            input=given,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A command that goes on; `end` kills it."""
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._started.append(subprocess.Popen(self.command(*arguments), env=self.environment, text=True, **streams))
        return self._started[-1]

    def end(self) -> None:
        """End the server, if there is one, and what was started."""
        if any(self.sockets.glob("*")):
            self.run("serve", "--stop")
        for one in self._started:
            with one:
                one.kill()


def winnow(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command with these variables beside those of this process."""
    own = {**os.environ, **environment}
    return subprocess.run(User.command(*arguments), env=own, capture_output=True, text=True, timeout=PATIENCE_S)
