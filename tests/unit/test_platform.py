"""What operating systems do differently: the branches of macOS and Windows, on a machine that is neither."""

import errno
import os
import signal
import struct
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace
from typing import Literal

import psutil
import pytest

from winnow_engine import platform as system
from winnow_engine.encoder.profiles import users_profile
from winnow_engine.errors import WinnowError
from winnow_engine.git.program import _program
from winnow_engine.models.cache import default_directory
from winnow_engine.platform import read_regular
from winnow_engine.storage.folders import cache_folder, sync_folder
from winnow_engine.targets.local.selfcheck import describe_exit
from winnow_lsp.host.roots import file_path, is_everything
from winnow_lsp.host.user_files import read_settings_file, user_file
from winnow_lsp.http.guard import KeyFile
from winnow_lsp.mcp.setup import executable
from winnow_lsp.process import prepare

On = Callable[[str], None]


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> On:
    """Sets the platform's name."""
    return lambda name: monkeypatch.setattr(system, "PLATFORM", name)


def test_windows_locks_a_byte_and_says_if_somebody_has(on: On, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def locking(*arguments: int) -> None:
        asked.append(arguments)
        if len(asked) == 2:
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setitem(system.sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    on("win32")
    assert system.try_lock(7)
    assert not system.try_lock(7)
    assert asked == [(7, 2, 1)] * 2


def test_windows_runs_no_program_of_the_folder_that_one_is_in(
    on: On, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, tools = tmp_path / "here", tmp_path / "tools"
    for folder in (here, tools):
        folder.mkdir()
        (folder / "git.EXE").touch(0o755)
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATHEXT", ".COM:.EXE")
    monkeypatch.setenv("PATH", f".:{here}::{tools}")
    on("win32")
    assert system.on_path("git") == _program(str(tools)) == str(tools / "git.EXE")


def test_an_error_of_the_system_is_no_lock_of_somebody(on: On, tmp_path: Path) -> None:
    on("linux")
    with (tmp_path / "lock").open("w") as file:
        closed = file.fileno()
    with pytest.raises(OSError, match="Bad file descriptor"):
        system.try_lock(closed)


class MacSocket:
    """Answers as macOS does: `struct xucred` with the user's groups, and the process as an int."""

    def getsockopt(self, level: int, option: int, size: int = 0) -> bytes | int:
        assert level == 0  # SOL_LOCAL
        groups = (20, 12, 61, *[0] * 13)
        xucred = struct.pack("@IIh16I", 0, 501, 3, *groups)
        return {1: xucred[:size], 2: 4242}[option]


def test_macos_tells_who_is_at_the_other_end(on: On) -> None:
    on("darwin")
    assert system.peer(MacSocket()) == (4242, 501)  # type: ignore[arg-type]


def test_a_file_on_windows_has_no_owner_by_number(on: On, monkeypatch: pytest.MonkeyPatch) -> None:
    on("win32")
    monkeypatch.delattr(os, "getuid")
    assert system.user() == 0


@pytest.mark.parametrize(("name", "opens"), [("linux", True), ("darwin", True), ("win32", False)])
def test_a_folder_is_synced_where_it_can_be_opened(
    on: On, name: str, opens: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on(name)
    synced: list[int] = []
    monkeypatch.setattr("winnow_engine.storage.folders.os.fsync", synced.append)
    sync_folder(tmp_path)
    assert bool(synced) is opens


@pytest.mark.parametrize(("name", "refused"), [("linux", True), ("darwin", True), ("win32", False)])
def test_a_file_of_keys_is_refused_by_its_mode_where_modes_say_who_reads(
    on: On, name: str, refused: bool, tmp_path: Path
) -> None:
    (file := tmp_path / "keys").write_text("ann 0123456789abcdef\n")
    file.chmod(0o644)
    on(name)
    with pytest.raises(ValueError, match="others can read") if refused else nullcontext():
        KeyFile(file)


@pytest.mark.parametrize("name", ["winnow", "winnow.exe"])
def test_agents_are_given_the_program_beside_python(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert executable() == str(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "uri", "path"),
    [
        ("win32", "file:///C:/a%20b/x.py", "C:/a b/x.py"),
        ("win32", "file:///c%3A/x.py", "c:/x.py"),
        ("win32", "file:///cx/y.py", "/cx/y.py"),
        ("win32", "file://C:/x.py", "C:/x.py"),
        ("win32", "file://localhost/tmp/x.py", "/tmp/x.py"),
        ("win32", "file://wsl%24/Debian/x.py", "//wsl$/Debian/x.py"),
        ("linux", "file://here/tmp/x.py", "/tmp/x.py"),
        ("darwin", "file:///C:/x.py", "/C:/x.py"),
        ("linux", "file:///tmp/x.py", "/tmp/x.py"),
    ],
)
def test_uris_are_paths_of_the_system(on: On, name: str, uri: str, path: str) -> None:
    on(name)
    assert file_path(uri).as_posix() == path


def test_a_disk_is_everything_if_the_home_or_the_system_is_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEMDRIVE", "C:")
    monkeypatch.setattr("os.path.realpath", str)
    monkeypatch.setattr("winnow_lsp.host.roots.Path", PureWindowsPath)
    monkeypatch.setattr("winnow_lsp.host.roots.home", lambda: PureWindowsPath("D:/Users/Me"))
    folders = ["d:/users/me", "D:/", "C:/", "P:/", "//a/b/"]
    assert [folder for folder in folders if is_everything(PureWindowsPath(folder))] == folders[:3]


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("linux", -signal.SIGILL, "crashed with SIGILL"),
        ("darwin", -signal.SIGSEGV, "crashed with SIGSEGV"),
        ("win32", 0xC000001D, "crashed with 0xc000001d"),
        ("win32", 1, "exit code 1"),
        ("linux", 1, "exit code 1"),
    ],
)
def test_a_crash_is_told_from_a_failure(on: On, name: str, code: int, said: str) -> None:
    on(name)
    check = describe_exit(code, "")
    assert not check.ok
    assert said in check.detail


def test_physical_cores_are_what_each_system_says(on: On, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: None if logical else 5)
    for name in ("darwin", "win32"):
        on(name)
        assert system.physical_cores() == 5
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: None)
    assert system.physical_cores() == os.cpu_count()


def test_a_containers_quota_bounds_the_cores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(system, "_CGROUP", tmp_path)
    cores = system.physical_cores()
    for quota, counted in (("max", cores), ("150000", 1), ("50000", 1), ("100000000", cores)):
        (tmp_path / "cpu.max").write_text(f"{quota} 100000\n")
        assert system.physical_cores() == counted


def test_a_file_is_read_where_no_flag_but_reading_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow_engine.platform.READ_FLAGS", os.O_RDONLY)
    (tmp_path / "x").write_bytes(b"a\r\n")
    assert read_regular(tmp_path / "x", 10) == b"a\r\n"
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(tmp_path, 10)


def test_a_containers_limit_bounds_free_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(system, "_CGROUP", tmp_path)
    unbounded = system.free_memory()
    assert unbounded > 1000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert system.free_memory() > 1000
    (tmp_path / "memory.max").write_text("1000\n")
    assert system.free_memory() == 600


def test_a_user_without_a_home_has_only_the_folders_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_account(_: int) -> None:
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", no_account)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "WINNOW_CACHE_DIR", "WINNOW_MODELS_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert (system.home(), system.user_folder("config"), user_file("winnow.toml")) == (None, None, None)
    assert (read_settings_file(), is_everything(tmp_path), users_profile("f")) == (({}, ()), False, None)
    environment: dict[str, str] = {}
    prepare(environment)
    assert "NUMBA_CACHE_DIR" not in environment
    for folder, variable in ((cache_folder, "WINNOW_CACHE_DIR"), (default_directory, "WINNOW_MODELS_DIR")):
        with pytest.raises(WinnowError, match=variable):
            folder()
        monkeypatch.setenv(variable, "~no-such/here")  # a name that no account has is a folder's
        assert folder() == Path("~no-such/here")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert system.user_folder("config") == tmp_path / "winnow"


@pytest.mark.parametrize(("kind", "folder"), [("cache", ".cache"), ("config", ".config"), ("data", ".local/share")])
def test_a_relative_folder_of_the_environment_is_ignored(
    kind: Literal["cache", "config", "data"], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", "here")
    assert system.user_folder(kind) == tmp_path / folder / "winnow"
    monkeypatch.setenv("HOME", "here")
    assert system.home() is None
