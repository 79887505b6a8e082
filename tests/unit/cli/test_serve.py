"""Options of `winnow serve`: models and disk of `--http`, and which servers `--stop` ends."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from winnow_lsp.cli import serve
from winnow_lsp.cli.main import main
from winnow_lsp.host import socket_path
from winnow_lsp.http import app


def test_the_index_has_its_share_of_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []
    monkeypatch.setattr(serve, "check_models", lambda *_, **__: None)
    monkeypatch.setattr(app, "serve_http", lambda models, store, *_: served.append((models, store.max_bytes)))
    assert main(["serve", "--http", "0", "--set", "cacheMegabytes=30"]) == 0
    [(models, max_bytes)] = served
    assert models.cache_megabytes == 30
    assert max_bytes == 20 * 10**6


_SERVER = """
import signal, sys
from pathlib import Path
from winnow_lsp.host.socket_path import listening
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
with listening(Path(sys.argv[1])) as server:
    server.listen()
    print("ready", flush=True)
    signal.pause()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a signal ends it, and leaves its file")
def test_stop_ends_a_server_of_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(socket_path, "_folder", lambda _: tmp_path)
    (tmp_path / "0123456789abcdef.sock").touch()  # of one that was killed
    command = [sys.executable, "-c", _SERVER, str(tmp_path / "fedcba9876543210.sock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout
        assert server.stdout.readline() == b"ready\n"
        assert main(["serve", "--stop"]) == 0
        assert server.wait(60) == 0
    assert capsys.readouterr().out == "stopped\n"
    assert main(["serve", "--stop"]) == 0
    assert capsys.readouterr().out == "no shared server runs\n"
