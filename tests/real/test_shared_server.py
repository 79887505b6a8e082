"""`winnow ask` through the server that a user's commands share, as processes, with real weights."""

import json
import os
import re
import signal
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from model_hub import REPOSITORY, serving
from windows import on_windows

from winnow_engine.storage.store import Store

from .user import PATIENCE_S, User

pytestmark = pytest.mark.real_weights

WORKSPACE = Path(__file__).parents[2] / "engine" / "winnow_engine" / "selection"
ASK = ("ask", "Which units fit a budget?", "-w", str(WORKSPACE), "--budget", "300")
ASK = (*ASK, "--set", "files.include=budget.py", "--set", "maxTokens=8")
FILES = 50  # of which a first look takes a part
MODELS = ("--drafter", "smollm2-135m", "--target", "smollm2-135m")


@pytest.fixture
def user(request: pytest.FixtureRequest, users_cache: Path, smollm2: Path) -> Iterator[User]:
    """A user without a server, whose server ends with the test; on Windows' branches where a test says so."""
    with tempfile.TemporaryDirectory(prefix="winnow-test-") as runtime:
        more = on_windows(Path(runtime)) if getattr(request, "param", "") == "windows" else {}
        one = User(users_cache, Path(runtime), **more)
        yield one
        one.end()


def server_of(user: User) -> int | None:
    """The server's process, None if none runs."""
    found = re.match(r"process (\d+)", user.run("serve", "--status").stdout)
    return int(found[1]) if found else None


def gone(process: int) -> bool:
    latest = time.monotonic() + PATIENCE_S
    while time.monotonic() < latest:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def files_encoded(user: User) -> int:
    """How many files have keys in the index, one by one or in packs."""
    cache = Path(user.environment["WINNOW_CACHE_DIR"]) / "index.sqlite"
    with closing(sqlite3.connect(cache)) as index, closing(Store(cache)) as store:
        rows = index.execute("SELECT namespace, key FROM record WHERE namespace LIKE 'keys-%'").fetchall()
        namespaces = {name for name, _ in rows} | {path.name for path in cache.parent.glob("index.packs/keys-*")}
        packed = {key for name in namespaces for pack in store.packs(name).all() for key in pack.keys}
    return len(packed | {key for _, key in rows})


def complete(asked: CompletedProcess[str]) -> bool:
    """Whether a question found all of the workspace in the index."""
    assert asked.returncode == 0, asked.stderr
    stats = json.loads(asked.stdout)["stats"]
    return stats["indexed_tokens"] == stats["workspace_tokens"]


def test_a_second_question_finds_the_models_loaded_and_the_same_answer_as_without_a_server(user: User) -> None:
    assert user.run("serve", "--status").returncode == 1
    first = user.run(*ASK, *MODELS, "--json")
    assert first.returncode == 0, first.stderr
    assert "winnow serve --stop" in first.stderr
    process = server_of(user)
    second = user.run(*ASK, *MODELS, "--json")
    assert second.stderr == ""
    assert server_of(user) == process
    alone = json.loads(user.run(*ASK, *MODELS, "--json", "--no-server").stdout)
    for done in (first, second):
        answer = json.loads(done.stdout)
        # The prompt is the same. Its answer need not be: what is in memory already is not evaluated again, and smaller
        # batches round otherwise (`llama/kv_cache.py`).
        assert answer["answer"].strip()
        assert answer["stats"]["prompt_tokens"] == alone["stats"]["prompt_tokens"]
        assert {key: answer[key] for key in answer if key not in ("stats", "answer")} == {
            key: alone[key] for key in alone if key not in ("stats", "answer")
        }
        assert answer["stats"].keys() == alone["stats"].keys()
    assert json.loads(second.stdout)["stats"]["reused_tokens"] > 0, "what was read is still in the target's memory"
    shown = user.run("serve", "--status").stdout
    assert "loaded: drafter smollm2-135m, target smollm2-135m\n" in shown
    assert user.run("serve", "--stop").stdout == "stopped\n"
    assert gone(process)
    assert user.run("serve", "--status").returncode == 1


def test_errors_and_exit_codes_are_those_of_a_command_without_a_server(user: User) -> None:
    for arguments, code in (
        (("-w", "/nonexistent", *MODELS), 4),
        (("-w", str(WORKSPACE), "--drafter", "none"), 3),
        (("-w", str(WORKSPACE), "--at", f"{WORKSPACE}/budget.py:90000", *MODELS), 2),
    ):
        with_server, alone = (user.run("ask", "Why?", *arguments, *more) for more in ((), ("--no-server",)))
        assert (with_server.returncode, alone.returncode) == (code, code)
        assert with_server.stderr.splitlines()[-1] == alone.stderr.splitlines()[-1]


def test_ctrl_c_stops_the_work_and_leaves_the_server(user: User) -> None:
    user.run(*ASK, *MODELS)
    process = server_of(user)
    asking = user.start(*ASK[:-1], "maxTokens=4000", *MODELS)
    assert asking.stdout.read(1)  # the answer has begun
    asking.send_signal(signal.SIGINT)
    assert asking.wait(PATIENCE_S) == 130
    assert ", answering" not in user.run("serve", "--status").stdout
    assert server_of(user) == process


@pytest.mark.parametrize("user", ["linux", "windows"], indirect=True)
def test_a_client_that_dies_and_a_server_that_is_killed_leave_nothing_behind(user: User) -> None:
    user.run(*ASK, *MODELS)
    process = server_of(user)
    asking = user.start(*ASK[:-1], "maxTokens=4000", *MODELS)
    assert asking.stdout.read(1)
    asking.kill()
    asking.wait()
    latest = time.monotonic() + PATIENCE_S
    while ", answering" in user.run("serve", "--status").stdout and time.monotonic() < latest:
        time.sleep(0.2)
    assert server_of(user) == process
    os.kill(process, signal.SIGKILL)
    assert gone(process)
    again = user.run(*ASK, *MODELS)
    assert again.returncode == 0, again.stderr
    assert server_of(user) not in (None, process)


def test_two_commands_lead_to_an_answer_and_who_names_the_target_has_the_same_models(
    user: User, smollm2: Path, qwen_small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / qwen_small.name).symlink_to(qwen_small)  # the drafter, which is no target
    target = f"hf:{REPOSITORY}:Q4_1"
    with serving({"tiny-Q4_1.gguf": smollm2.read_bytes()}, monkeypatch) as hub:
        user.environment |= {"WINNOW_MODELS_DIR": str(tmp_path), "HF_ENDPOINT": hub.base}
        assert user.run("models", "pull", target).returncode == 0
    assert user.start(*ASK[:-1], "maxTokens=600").stdout.read(1)
    named, shown = user.start(*ASK, "--target", target), set[str]()
    while named.poll() is None:
        shown.add("\n".join(re.findall("^loaded: [^,]+, target [^,\n]+", user.run("serve", "--status").stdout, re.M)))
    assert (named.returncode, shown) == (0, {f"loaded: drafter qwen2.5-coder-0.5b, target {target}"})


def test_a_drafter_that_is_pulled_is_compiled(user: User, qwen_small: Path, tmp_path: Path) -> None:
    user.environment |= {"NUMBA_CACHE_DIR": str(tmp_path), "WINNOW_MODELS_DIR": str(qwen_small.parent)}
    assert user.run("models", "pull", "qwen2.5-coder-0.5b").returncode == 0
    assert list(tmp_path.rglob("*.nbc"))


def test_a_server_without_clients_ends_by_itself(user: User) -> None:
    server = user.start("serve", "--shared", "--idle", "0.05")
    assert server.wait(PATIENCE_S) == 0
    assert server_of(user) is None


def test_two_commands_at_once_start_one_server(user: User) -> None:
    asking = [user.start(*ASK, *MODELS) for _ in range(2)]
    assert [one.wait(PATIENCE_S) for one in asking] == [0, 0]
    assert len([path for path in user.sockets.iterdir() if path.suffix == ".sock"]) == 1


def test_the_index_is_completed_once_the_command_has_its_answer(user: User, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for number in range(FILES):
        lines = (f"def of_{number}_{i}(value):\n    return value + {number * i}\n\n\n" for i in range(20))
        (project / f"step_{number}.py").write_text("".join(lines))
    ask = ("ask", "What does of_7_3 give?", "-w", str(project), "--set", "maxTokens=4", "--budget", "200", *MODELS)
    first = user.run(*ask)
    assert first.returncode == 0, first.stderr
    assert "the index is not complete" in first.stderr
    assert "your shared server completes it now" in first.stderr
    latest, encoded = time.monotonic() + PATIENCE_S, 0
    while encoded < FILES:
        assert time.monotonic() < latest, encoded
        if (now := files_encoded(user)) > encoded:  # as long as it goes on, it may take its time
            latest, encoded = time.monotonic() + PATIENCE_S, now
        time.sleep(0.5)
    assert complete(user.run(*ask, "--json", "--no-server"))
