"""A key for each user, from a file that changes while the server runs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.requests import Request

from winnow_lsp.http.fields import ApiError
from winnow_lsp.http.guard import KEYS_VARIABLE, TOKEN_VARIABLE, Guard, KeyFile

ANN, BOB = "ann-0123456789abcdef", "bob-0123456789abcdef"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys"


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_each_key_is_its_users(path: Path) -> None:
    keys = KeyFile(write(path, f"# the team\n\nann {ANN}\n  bob\t{BOB}  \n"))
    assert (keys.user(ANN), keys.user(BOB), keys.user(""), keys.user(ANN[:-1])) == ("ann", "bob", None, None)


def test_who_is_added_may_ask_at_once_and_who_is_removed_may_not(path: Path) -> None:
    keys = KeyFile(write(path, f"ann {ANN}"))
    write(path, f"bob {BOB}  ")
    assert (keys.user(ANN), keys.user(BOB)) == (None, "bob")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_key_may_have_any_letters(path: Path, encoding: str) -> None:
    key = "naïve-0123456789à"
    for guard in (Guard(key), Guard(None, KeyFile(write(path, f"ann {key}")))):
        headers = [(b"authorization", f"Bearer {key} ".encode(encoding))]
        guard.check(Request({"type": "http", "headers": headers, "method": "", "path": ""}))


HARM: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: path.write_text("ann"),
    "empty": lambda path: path.write_text(""),
    "binary": lambda path: path.write_bytes(b"\xff\xfe"),
    "gone": lambda path: path.unlink(),
    "readable": lambda path: path.chmod(0o644),
    "folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_file_that_becomes_unsound_lets_nobody_in_until_it_is_sound(
    path: Path, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    guard = Guard("the token", KeyFile(write(path, f"ann {ANN}\nbob {BOB}")))

    def asking(key: str) -> str | None:
        return guard.check(
            Request({"type": "http", "headers": [(b"x-api-key", key.encode())], "method": "", "path": ""})
        )

    assert asking(ANN) == "ann"
    HARM[harm](path)
    for _ in range(2):
        with pytest.raises(ApiError, match="file of keys cannot be used") as refused:
            asking(ANN)
    assert (refused.value.status, asking("the token"), caplog.text.count("no key counts")) == (503, None, 1)
    if path.is_dir():
        path.rmdir()
    write(path, f"bob {BOB}")
    assert asking(BOB) == "bob"
    with pytest.raises(ApiError, match="missing or wrong"):
        asking(ANN)


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        (f"ann {ANN}", 0o640, "others can read the keys"),
        ("ann", 0o600, "line 1: a line is a user's name, a space, and the key"),
        ("ann 0123456789abcde", 0o600, "line 1: a key has 16 characters at least"),
        (f"ann {ANN}\nann {BOB}", 0o600, "line 2: the name or the key is there already"),
        (f"ann {ANN}\nbob {ANN}", 0o600, "line 2: the name or the key is there already"),
        ("# nobody", 0o600, "has no key"),
    ],
)
def test_an_unsound_file_is_said_at_the_start(path: Path, text: str, mode: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        KeyFile(write(path, text, mode))


def test_a_file_that_is_not_there_is_said(path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        KeyFile(path)


def test_other_machines_are_served_with_keys(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    monkeypatch.delenv(KEYS_VARIABLE, raising=False)
    with pytest.raises(ValueError, match="name a file with a key for each user in WINNOW_HTTP_KEYS"):
        Guard.of("0.0.0.0")
    monkeypatch.setenv(KEYS_VARIABLE, str(write(path, f"ann {ANN}")))
    guard = Guard.of("0.0.0.0")
    assert guard.token is None
    assert guard.keys is not None
