"""Where commands and their shared server meet, and who is kept out."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from winnow_engine.platform import has_private_sockets, peer
from winnow_lsp.cli.shared_server import stop
from winnow_lsp.host.socket_path import UnsafeFolderError, server_files

pytestmark = pytest.mark.skipif(not has_private_sockets(), reason="needs Unix sockets")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """With a path that is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="winnow-test-") as folder:
        yield Path(folder)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_RUNTIME_DIR": str(tmp_path), "WINNOW_CACHE_DIR": str(tmp_path / "cache")}


def test_equal_commands_meet_at_one_place_that_only_the_user_can_enter(environment: dict[str, str]) -> None:
    place = server_files(environment)
    assert place == server_files(environment | {"HOME": "/elsewhere", "WINNOW_SERVER": "1"})
    assert place.socket.parent.stat().st_mode & 0o777 == 0o700


def test_without_a_runtime_folder_for_sockets_the_temporary_one_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    (x := tmp_path / ("x" * 60)).mkdir()
    (e := tmp_path / ("é" * 40)).mkdir()
    for runtime in ("", "/nowhere/at/all", "relative", x, e):
        place = server_files({"XDG_RUNTIME_DIR": str(runtime)})
        assert place.socket.parent == tmp_path / f"winnow-{os.getuid()}"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(place.socket))
        place.socket.unlink()


def test_a_folder_that_others_can_enter_or_a_link_is_refused(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "winnow").mkdir()
    (tmp_path / "winnow").chmod(0o755)
    with pytest.raises(UnsafeFolderError, match="only you"):
        server_files(environment)
    (tmp_path / "winnow").rename(mine := tmp_path / "mine")
    mine.chmod(0o700)
    (tmp_path / "winnow").symlink_to(mine)
    with pytest.raises((UnsafeFolderError, OSError)):
        server_files(environment)


def test_the_kernel_tells_who_is_at_the_other_end() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert peer(one) == (os.getpid(), os.getuid())


def test_other_commands_meet_elsewhere(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    place = server_files(environment)
    for variable in ("WINNOW_CACHE_DIR", "WINNOW_MODELS_DIR", "CUDA_VISIBLE_DEVICES"):
        assert server_files(environment | {variable: "/other"}) != place
    monkeypatch.setattr(sys, "executable", "/other/python")
    assert server_files(environment) != place


ENDS_ANOTHER = """
import os, signal, sys
from pathlib import Path
from winnow_lsp.host.socket_path import listening

def end(*_):
    for other in map(int, sys.argv[2:]):
        os.kill(other, signal.SIGTERM)
        while Path(sys.argv[1]).with_name("b.sock").exists():
            pass
    sys.exit()

signal.signal(signal.SIGTERM, end)
with listening(Path(sys.argv[1])) as server:
    server.listen()
    print("ready", flush=True)
    signal.pause()
"""


def test_a_server_that_ended_meanwhile_needs_no_stopping(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", environment["XDG_RUNTIME_DIR"])
    folder, servers = server_files().socket.parent, list[subprocess.Popen[bytes]]()
    for name in ("b", "a"):
        command = [sys.executable, "-c", ENDS_ANOTHER, str(folder / f"{name}.sock")]
        one = subprocess.Popen([*command, *(str(one.pid) for one in servers)], stdout=subprocess.PIPE)
        servers.append(one)
        assert one.stdout is not None
        with one.stdout as said:
            assert said.readline() == b"ready\n"
        Thread(target=one.wait).start()  # no zombie
    assert stop() == 0
    assert capsys.readouterr().out == "stopped\n"
