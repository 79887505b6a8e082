"""Servers found on this machine are named and offered, and none is used without a yes."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from winnow_engine.config import AUTO
from winnow_engine.errors import ModelNotFoundError
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.targets import residency, suggesting
from winnow_engine.targets.machine_speed import Speed
from winnow_engine.targets.remote import discovery
from winnow_engine.targets.remote.address import KEY_VARIABLE
from winnow_lsp.cli.doctor import _servers
from winnow_lsp.cli.local_servers import with_target

from ...ollama_server import serving
from ..targets.conftest import write_llama

OFFERED = "http://{}/v1#coder:7b"


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The only server on this machine, which has no models of Winnow's own."""
    monkeypatch.setattr(discovery, "_OTHERS", ())
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path))
    with serving() as url:
        monkeypatch.setenv("OLLAMA_HOST", url)
        yield url.removeprefix("http://")


@pytest.fixture(scope="session")
def tiny_drafter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_llama(tmp_path_factory.mktemp("models") / "tiny.gguf")


def options(tiny: Path | None = None, target: str = AUTO, *, as_json: bool = False) -> dict[str, Any]:
    return {"settings": {"target": target, "drafter": str(tiny or DEFAULT_DRAFTER)}, "as_json": as_json}


def asked(host: str) -> set[str]:
    return {method for method, *_ in httpx.get(f"http://{host}/log").json()}


def test_without_a_terminal_the_command_is_named_and_nothing_used(ollama: str, tiny_drafter: Path) -> None:
    with pytest.raises(ModelNotFoundError) as raised:
        with_target(options(tiny_drafter))
    said = str(raised.value)
    assert "no target is installed: run `winnow models pull`" in said
    assert f"coder:7b on Ollama 0.33.0: winnow ask --target '{OFFERED.format(ollama)}'" in said
    assert "cloud" not in said
    assert asked(ollama) == {"GET"}


def test_a_yes_uses_the_first_that_was_found(ollama: str, tiny_drafter: Path, typed: int) -> None:
    os.write(typed, b"y\n")
    assert with_target(options(tiny_drafter)) == options(tiny_drafter, OFFERED.format(ollama))


@pytest.mark.parametrize("key", [None, "sk-secret"])
def test_the_question_says_what_is_sent(
    ollama: str,
    tiny_drafter: Path,
    typed: int,
    key: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    if key:
        monkeypatch.setenv(KEY_VARIABLE, key)
    os.write(typed, b"y\n")
    with_target(options(tiny_drafter))
    said = capsys.readouterr().err
    assert "coder:7b on Ollama 0.33.0 for this question?" in said
    assert (KEY_VARIABLE in said) == (key is not None)
    assert "sk-secret" not in said


@pytest.mark.parametrize("answer", [b"n\n", b"\n"])
def test_anything_but_a_yes_uses_none(ollama: str, tiny_drafter: Path, typed: int, answer: bytes) -> None:
    os.write(typed, answer)
    with pytest.raises(ModelNotFoundError):
        with_target(options(tiny_drafter))
    assert asked(ollama) == {"GET"}


def test_a_program_that_wants_json_is_not_asked(ollama: str, tiny_drafter: Path, typed: int) -> None:
    with pytest.raises(ModelNotFoundError, match="--target"):
        with_target(options(tiny_drafter, as_json=True))


def test_nobody_is_asked_about_a_target_while_the_drafter_is_missing(ollama: str, typed: int) -> None:
    with pytest.raises(ModelNotFoundError, match=f"pull {DEFAULT_DRAFTER}`\nfound on this machine"):
        with_target(options())


def test_doctor_says_how_to_use_each(ollama: str) -> None:
    findings = list(_servers())
    assert all(finding.works for finding in findings)
    assert [finding.seen.split("; ")[0] for finding in findings] == [
        "coder:7b on Ollama 0.33.0",
        "thinker:8b on Ollama 0.33.0",
    ]
    assert findings[0].seen.endswith(f"use it: winnow ask --target '{OFFERED.format(ollama)}'")


@pytest.mark.parametrize("answer", [b"y\n", b"n\n"])
def test_without_a_server_the_target_that_suits_the_machine_is_offered(
    answer: bytes, tiny_drafter: Path, typed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(discovery, "_OTHERS", ())
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tiny_drafter.parent / "none"))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(residency, "gpu_bytes", lambda: (None, "no GPU"))
    monkeypatch.setattr(suggesting, "cpu_speed", lambda: Speed(1e12, 1e11))
    pulled: list[str] = []
    monkeypatch.setattr("winnow_lsp.cli.pulling.pull_one", pulled.append)
    os.write(typed, answer)
    if answer == b"n\n":
        with pytest.raises(ModelNotFoundError):
            with_target(options(tiny_drafter))
        assert pulled == []
        return
    chosen = with_target(options(tiny_drafter))["settings"]["target"]
    assert pulled == [chosen]
    assert f"Pull {chosen} (" in capsys.readouterr().err
