"""`winnow ask` through the server that a user's commands share, as processes, with real weights."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.real_weights

WORKSPACE = Path(__file__).parents[2] / "engine" / "winnow_engine" / "selection"
ASK = ("ask", "Which units fit a budget?", "-w", str(WORKSPACE), "--first-look", "0", "--budget", "300")
ASK = (*ASK, "--max-tokens", "8")
MODELS = ("--drafter", "smollm2-135m", "--target", "smollm2-135m")
PATIENCE_S = 300


class Commands:
    """Commands of one user. Their servers' sockets lie in `sockets`."""

    def __init__(self, cache: Path, runtime: Path) -> None:
        own = {"WINNOW_CACHE_DIR": str(cache), "XDG_RUNTIME_DIR": str(runtime), "WINNOW_SERVER": "1"}
        self.environment, self.sockets = {**os.environ, **own}, runtime / "winnow"
        self.started: list[subprocess.Popen[str]] = []

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "winnow_lsp", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "winnow_lsp", *arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.started.append(subprocess.Popen(command, env=self.environment, text=True, **streams))
        return self.started[-1]

    def process(self) -> int | None:
        """The server's process, None if none runs."""
        found = re.match(r"process (\d+)", self("serve", "--status").stdout)
        return int(found[1]) if found else None


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def winnow(cache: Path, tmp_path: Path, smollm2: Path) -> Iterator[Commands]:
    commands = Commands(cache, tmp_path)
    yield commands
    commands("serve", "--stop")
    for one in commands.started:
        with one:
            one.kill()


def gone(process: int) -> bool:
    latest = time.monotonic() + PATIENCE_S
    while time.monotonic() < latest:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_a_second_question_finds_the_models_loaded_and_the_same_answer_as_without_a_server(winnow: Commands) -> None:
    assert winnow("serve", "--status").returncode == 1
    first = winnow(*ASK, *MODELS, "--json")
    assert first.returncode == 0, first.stderr
    assert "winnow serve --stop" in first.stderr
    process = winnow.process()
    second = winnow(*ASK, *MODELS, "--json")
    assert second.stderr == ""
    assert winnow.process() == process
    alone = json.loads(winnow(*ASK, *MODELS, "--json", "--no-server").stdout)
    for done in (first, second):
        answer = json.loads(done.stdout)
        assert {key: answer[key] for key in answer if key != "stats"} == {
            key: alone[key] for key in alone if key != "stats"
        }
        assert answer["stats"].keys() == alone["stats"].keys()
    assert json.loads(second.stdout)["stats"]["reused_tokens"] > 0, "what was read is still in the target's memory"
    shown = winnow("serve", "--status").stdout
    assert "loaded: drafter smollm2-135m, target smollm2-135m\n" in shown
    assert winnow("serve", "--stop").stdout == "stopped\n"
    assert gone(process)
    assert winnow("serve", "--status").returncode == 1


def test_errors_and_exit_codes_are_those_of_a_command_without_a_server(winnow: Commands) -> None:
    for arguments, code in (
        (("-w", "/nonexistent", *MODELS), 4),
        (("-w", str(WORKSPACE), "--drafter", "none"), 3),
        (("-w", str(WORKSPACE), "--at", f"{WORKSPACE}/budget.py:90000", *MODELS), 2),
    ):
        with_server, alone = (winnow("ask", "Why?", *arguments, *more) for more in ((), ("--no-server",)))
        assert (with_server.returncode, alone.returncode) == (code, code)
        assert with_server.stderr.splitlines()[-1] == alone.stderr.splitlines()[-1]


def test_ctrl_c_stops_the_work_and_leaves_the_server(winnow: Commands) -> None:
    winnow(*ASK, *MODELS)
    process = winnow.process()
    asking = winnow.start(*ASK[:-1], "4000", *MODELS)
    assert asking.stdout.read(1)  # the answer has begun
    asking.send_signal(signal.SIGINT)
    assert asking.wait(PATIENCE_S) == 130
    assert ", answering" not in winnow("serve", "--status").stdout
    assert winnow.process() == process


def test_a_client_that_dies_and_a_server_that_is_killed_leave_nothing_behind(winnow: Commands) -> None:
    winnow(*ASK, *MODELS)
    process = winnow.process()
    asking = winnow.start(*ASK[:-1], "4000", *MODELS)
    assert asking.stdout.read(1)
    asking.kill()
    asking.wait()
    latest = time.monotonic() + PATIENCE_S
    while ", answering" in winnow("serve", "--status").stdout and time.monotonic() < latest:
        time.sleep(0.2)
    assert winnow.process() == process
    os.kill(process, signal.SIGKILL)
    assert gone(process)
    again = winnow(*ASK, *MODELS)
    assert again.returncode == 0, again.stderr
    assert winnow.process() not in (None, process)


def test_a_server_without_clients_ends_by_itself(winnow: Commands) -> None:
    server = winnow.start("serve", "--shared", "--idle", "0.05")
    assert server.wait(PATIENCE_S) == 0
    assert winnow.process() is None


def test_two_commands_at_once_start_one_server(winnow: Commands) -> None:
    asking = [winnow.start(*ASK, *MODELS) for _ in range(2)]
    assert [one.wait(PATIENCE_S) for one in asking] == [0, 0]
    assert len([path for path in winnow.sockets.iterdir() if path.suffix == ".sock"]) == 1


def test_the_index_is_completed_once_the_command_has_its_answer(winnow: Commands, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for number in range(60):
        lines = (f"def of_{number}_{i}(value):\n    return value + {number * i}\n\n\n" for i in range(20))
        (project / f"step_{number}.py").write_text("".join(lines))
    ask = ("ask", "What does of_7_3 give?", "-w", str(project), "--first-look", "1000", "--max-tokens", "4", *MODELS)
    first = winnow(*ask)
    assert first.returncode == 0, first.stderr
    assert "the index is not complete" in first.stderr
    assert "your shared server completes it now" in first.stderr
    latest = time.monotonic() + PATIENCE_S
    while ", indexing" in winnow("serve", "--status").stdout and time.monotonic() < latest:
        time.sleep(0.2)
    stats = json.loads(winnow(*ask, "--json", "--no-server").stdout)["stats"]
    assert stats["indexed_tokens"] == stats["workspace_tokens"]
