"""`winnow serve --http` as a process, and questions to it."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

MODEL = "smollm2-135m"


@contextmanager
def serving(cache: Path, *options: str, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The URL of a server on a free port, and its process; it is gone afterwards."""
    command = [sys.executable, "-m", "winnow_lsp", "serve", "--http", "127.0.0.1:0", "--drafter", MODEL, *options]
    settled = {**os.environ, "WINNOW_CACHE_DIR": str(cache), **environment}
    with subprocess.Popen(command, env=settled, stderr=subprocess.PIPE, text=True) as process:
        line = process.stderr.readline()
        log = threading.Thread(target=lambda: sys.stderr.writelines(process.stderr))
        log.start()
        try:
            assert line.startswith("winnow: serving on "), line
            yield f"http://{line.split()[-1]}", process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            finally:
                process.kill()
                log.join()


def serving_fixture(*options: str, **environment: str) -> Any:
    """A fixture for the tests of a file: the URL of a server with these options."""

    @pytest.fixture(scope="module")
    def url(smollm2: Path, qwen_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
        with serving(tmp_path_factory.mktemp("cache"), *options, **environment) as (url, _):
            yield url

    return url


def post(url: str, messages: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    answer = httpx.post(f"{url}/v1/chat/completions", json={"messages": messages, **fields}, timeout=300)
    assert answer.status_code == 200, answer.text
    return answer.json()
