import errno
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from winnow_engine.errors import ModelDamagedError, ModelNotFoundError
from winnow_engine.models import cache, registry
from winnow_engine.models.cache import FileState
from winnow_engine.models.registry import RegisteredModel


@pytest.fixture
def model(make_model: Callable[..., RegisteredModel], monkeypatch: pytest.MonkeyPatch) -> RegisteredModel:
    model = make_model()
    monkeypatch.setattr(registry, "MODELS", (model,))
    return model


def test_the_directory_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("WINNOW_MODELS_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.default_directory() == tmp_path / "winnow" / "models"


def test_a_missing_file_is_answered_with_the_command_that_gets_it(model: RegisteredModel, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="winnow models pull tiny"):
        cache.path("tiny", tmp_path)


def test_half_a_file_is_refused_with_both_sizes(model: RegisteredModel, content: bytes, tmp_path: Path) -> None:
    (tmp_path / model.file).write_bytes(content[:1000])
    with pytest.raises(ModelDamagedError, match=r"1,000 bytes instead of 1,280,000.*winnow models pull tiny"):
        cache.path("tiny", tmp_path)


@pytest.mark.parametrize(
    "header",
    [bytes(4), b"GGUF\xff", b"GGUF" + (3).to_bytes(4, "little") + bytes(16)],
    ids=["no GGUF", "of no known version", "of no language model"],
)
def test_a_file_of_the_right_size_with_a_damaged_header_is_refused(
    header: bytes, model: RegisteredModel, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path))
    (tmp_path / model.file).write_bytes(header + content[len(header) :])
    assert cache.quick_state(model, tmp_path) is FileState.DAMAGED
    with pytest.raises(ModelDamagedError, match=r"tiny\.gguf is damaged in its header; run `winnow models pull tiny`"):
        cache.locate("tiny")


def test_a_file_that_may_not_be_read_is_refused(
    model: RegisteredModel, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(file: Path, mode: str) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / model.file).write_bytes(content)
    monkeypatch.setattr(Path, "open", denied)
    assert cache.quick_state(model, tmp_path) is FileState.DAMAGED
    with pytest.raises(ModelDamagedError, match=r"tiny\.gguf cannot be read; run `winnow models pull tiny`"):
        cache.path("tiny", tmp_path)


def test_a_file_in_the_working_directory_does_not_take_a_models_place(
    model: RegisteredModel, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / model.file).write_bytes(content)
    for name in ("tiny", "other"):
        Path(name).write_bytes(content)
    assert cache.locate("tiny") == tmp_path / "models" / model.file
    assert cache.locate("./tiny") == Path("tiny")
    assert cache.locate("other") == Path("other")


@pytest.mark.parametrize(
    ("damage", "state"),
    [
        (lambda content: content, FileState.OK),
        (lambda content: content[:-1], FileState.DAMAGED),
        (lambda content: content[:-1] + b"\0", FileState.DAMAGED),
    ],
    ids=["whole", "cut", "one byte changed"],
)
def test_verify_finds_every_damage(
    model: RegisteredModel, content: bytes, tmp_path: Path, damage: Callable[[bytes], bytes], state: FileState
) -> None:
    (tmp_path / model.file).write_bytes(damage(content))
    assert cache.verify(tmp_path) == [(model, state)]
