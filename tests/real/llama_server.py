"""llama-cpp-python's own OpenAI-compatible server, as a process."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

CONTEXT = 4096


@contextmanager
def serving(model: Path, log: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The server's URL and process; it is gone afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = (
        "--model",
        str(model),
        "--port",
        str(port),
        "--n_ctx",
        str(CONTEXT),
        "--model_alias",
        "small",
        *options,
    )
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-m", "llama_cpp.server", *arguments], stdout=out, stderr=out)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process, log)
        yield url, process
    finally:
        process.kill()
        process.wait()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        try:
            httpx.get(f"{url}/v1/models")
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"no server after a minute: {log.read_text()}")
