"""A first question answered by a server that was found: llama-cpp-python's, with real weights, after a yes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow_engine.targets.remote.discovery import discover

from .llama_server import serving

pytestmark = [pytest.mark.real_weights, pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal")]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server") / "log"


@pytest.fixture(scope="module")
def host(smollm2: Path, log: Path) -> Iterator[str]:
    with serving(smollm2, log) as (url, _):
        yield url.removeprefix("http://")


@pytest.fixture
def environment(host: str, smollm2: Path, tmp_path: Path) -> dict[str, str]:
    """A machine with a drafter and that server, but without the default target."""
    (tmp_path / "code.py").write_text("def area(r):\n    return 3.14159 * r * r\n")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / smollm2.name).symlink_to(smollm2)
    own = {"WINNOW_MODELS_DIR": str(tmp_path / "models"), "WINNOW_CACHE_DIR": str(tmp_path / "cache")}
    return {**os.environ, **own, "OLLAMA_HOST": host}


def ask(folder: Path, environment: dict[str, str], typed: bytes) -> tuple[subprocess.CompletedProcess[str], str]:
    """What the command printed, and what it said on a terminal at which somebody types."""
    keyboard, terminal = os.openpty()
    os.write(keyboard, typed)
    options = ("-w", str(folder), "--drafter", "smollm2-135m", "--set", "maxTokens=8")
    command = [sys.executable, "-m", "winnow_lsp", "ask", "What does area do?", *options]
    streams = {"stdin": terminal, "stdout": subprocess.PIPE, "stderr": terminal}
    done = subprocess.run(command, env=environment, text=True, timeout=300, check=False, **streams)
    os.close(terminal)
    said = b""
    while piece := _read(keyboard):
        said += piece
    os.close(keyboard)
    return done, said.decode()


def _read(keyboard: int) -> bytes:
    try:
        return os.read(keyboard, 4096)
    except OSError:  # what Linux says at the end of a terminal
        return b""


def test_a_yes_gets_an_answer_and_a_no_sends_nothing(
    host: str, log: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (found,) = discover((host,))
    assert (found.model, found.url) == ("small", f"http://{host}/v1#small")
    done, said = ask(tmp_path, environment, b"n\n")
    assert (done.returncode, done.stdout) == (3, "")
    assert f"winnow ask --target 'http://{host}/v1#small'" in said
    assert "POST" not in log.read_text()
    done, said = ask(tmp_path, environment, b"y\n")
    assert done.returncode == 0, said
    assert done.stdout.strip()
    assert "POST /v1/chat/completions" in log.read_text()


def test_doctor_finds_it(host: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "winnow_lsp", "doctor"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    lines = [line for line in done.stdout.splitlines() if " found: small " in line]
    assert [line.split(": ", 1)[1] for line in lines] == [
        f"small on an OpenAI-compatible server; use it: winnow ask --target 'http://{host}/v1#small'"
    ]
