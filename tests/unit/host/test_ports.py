"""The shared server where there are no Unix sockets: a real one, real clients, and who is kept out."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from windows import on_windows

from winnow_engine import platform as system
from winnow_engine.core import Cancellation
from winnow_lsp.cli.shared_server import show, stop
from winnow_lsp.client.connection import running, started
from winnow_lsp.host.socket_path import Port, server_files


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of the port of a server that runs."""
    for name, value in {**on_windows(tmp_path), "WINNOW_CACHE_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(system, "PLATFORM", "win32")
    monkeypatch.setattr(system, "user", os.getuid)
    files = server_files()
    started(files, files.socket, Cancellation()).close()
    yield files.socket
    assert stop() == 0
    assert running(files.socket) is None


def test_who_has_not_read_the_file_is_not_answered(place: Path) -> None:
    port = Port.of(place)
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with socket.create_connection(("127.0.0.1", port.number)):  # says nothing, and keeps nobody waiting
        for said in (b"POST / HTTP/1.1\r\n" + b"a: b\r\n" * 30, b"0" * 64, port.secret):
            with socket.create_connection(("127.0.0.1", port.number)) as stranger:
                stranger.sendall(said)
                assert stranger.recv(1) == b""
        assert show() == 0


def test_a_file_that_is_replaced_meanwhile_is_not_read_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, greet = place.read_bytes(), Port.greet
    monkeypatch.setattr(Port, "greet", lambda *ends: (greet(*ends), place.write_bytes(b"1 2")))
    assert show() == 0
    place.write_bytes(whole)


def test_whoever_got_the_port_of_a_killed_server_is_told_nothing(place: Path) -> None:
    port, heard = Port.of(place), list[bytes]()

    def echo(listening: socket.socket) -> None:
        with listening.accept()[0] as client:
            said = client.recv(1000)
            client.settimeout(0.1)
            for byte in said[:20]:  # who waits for all of it is still there after these
                client.sendall(bytes([byte]))
                with suppress(TimeoutError):
                    return heard.append(client.recv(1000))

    os.kill(port.process, signal.SIGKILL)
    with suppress(ChildProcessError):  # else who started it waited first
        os.waitpid(port.process, 0)
    with socket.create_server(("127.0.0.1", port.number)) as listening:
        (thief := Thread(target=echo, args=(listening,))).start()
        assert running(place) is None
        thief.join()
    assert heard == [b""]
    for left in (place.read_bytes(), b"1 2"):
        place.write_bytes(left)
        assert running(place) is None
    started(server_files(), place, Cancellation()).close()
    assert Port.of(place).process != port.process
