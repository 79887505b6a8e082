"""The profiles of drafters: folders, found by the drafter's fingerprint, those that ship and the user's alike.

A profile is a folder with a `profile.json`, the adapter that this names if it has one, and a `card.md` for people:

    {"fingerprints": ["3c51608417b386dc"],   the drafters it belongs to, by `fingerprint`
     "adapter": "adapter.safetensors",       a file in the folder (`adapter.py`), or in its place
     "heads": [{"layer": 8, "head": 1, "feature": "all", "weight": 1.0}],   scoring heads (`heads.py`)
     "reranker": {"file": "reranker.safetensors",   if it has one, in the folder
                  "model": "qwen2.5-coder-1.5b",    whose layers it has, if not the drafter's own
                  "weight": 1.0, "tokens": 16000},  of its scores, less their mean; to read at most
     "fusion": {…}}                          the weights of all features (`selection/fusion_weights.py`)

The user's folders lie in `user_directory()` and are searched before those that ship: here, and with the weights of
adapters (`models/registry.py`), which use the reranker that is installed for the same drafter. A drafter that has
neither is scored with every head of some layers, and the fusion weights of `generic`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winnow_cuda.shapes import TransformerShape
from winnow_engine.encoder.adapter import AdapterProfile
from winnow_engine.encoder.heads import generic_heads, heads_of
from winnow_engine.encoder.profile import Profile
from winnow_engine.encoder.weights import GgufTensors
from winnow_engine.errors import NotJsonError, ProfileError
from winnow_engine.models.registry import weight_folders, weights_command
from winnow_engine.platform import user_folder
from winnow_engine.untrusted import read_json


@dataclass(frozen=True, slots=True)
class RerankerUse:
    """A profile's reranker: its file, its use, and the registered model whose layers it has, if not the drafter."""

    file: Path
    weight: float
    tokens: int
    model: str | None = None


def use_of(document: Mapping[str, Any], file: Path) -> RerankerUse:
    """The use of the reranker in `file`, from a profile's document. ProfileError if that is malformed."""
    match document:
        case {"weight": float(weight) | int(weight), "tokens": int(tokens)} if (
            tokens > 0
            and math.isfinite(weight)
            and not isinstance(weight, bool)
            and isinstance(model := document.get("model"), str | None)
        ):
            return RerankerUse(file, float(weight), tokens, model)
    raise ProfileError(f"{file.parent} does not say how its reranker is used: take the reranker out of profile.json")


HEADS = Path(__file__).parent  # the folder of the profiles that need no weights
DOCUMENT = "profile.json"
_INSTALLED = "reranker.json"
GENERIC = HEADS / "generic"
_NOTICE = (
    "no profile ships for this drafter: scoring with a generic one, which keeps fewer right spans; "
    "`winnow calibrate` makes one"
)
_NO_ADAPTER_NOTICE = "no adapter is installed: scoring with a generic profile, which keeps fewer right spans; "
_REMEDY = "run `winnow calibrate` again, or delete the profile"


@dataclass(frozen=True, slots=True)
class ProfileFolder:
    """A profile on disk: its folder, and its `profile.json`. One that `ships` uses the installed reranker."""

    path: Path
    document: Mapping[str, Any]
    ships: bool = False

    @property
    def fusion(self) -> Mapping[str, Any]:
        """The document of the fusion weights."""
        fusion: Mapping[str, Any] = self.document["fusion"]
        return fusion

    @property
    def adapter(self) -> Path | None:
        """The adapter's file, or None for scoring heads. ProfileError if it lies outside the folder."""
        name = self.document.get("adapter")
        return None if name is None else self._inside(name, "adapter")

    @property
    def reranker(self) -> RerankerUse | None:
        """The reranker, if it has one, and how it is used. ProfileError as for the adapter, and if it is malformed."""
        document = self.document.get("reranker")
        if document is None:
            return _installed_reranker(self.document["fingerprints"]) if self.ships else None
        if not isinstance(document, dict):
            raise ProfileError(f"{self.path}: the reranker is no object with a file: {_REMEDY}")
        return use_of(document, self._inside(document.get("file"), "reranker"))

    def _inside(self, name: Any, what: str) -> Path:
        """A file of the folder. A profile may come from anywhere: no path and no link may make it read another file."""
        if not isinstance(name, str) or "\0" in name or (self.path / name).resolve().parent != self.path.resolve():
            raise ProfileError(f"{self.path}: the {what} {name!r} lies outside the profile: copy the file into it")
        return self.path / name

    def open(self, shape: TransformerShape) -> Profile:
        """The profile for a drafter of this shape. ProfileError if it is malformed or belongs to another drafter."""
        adapter = self.adapter
        if adapter is None and "heads" not in self.document:
            raise ProfileError(f"{self.path} has neither an adapter nor heads: {_REMEDY}")
        if adapter is None:
            return heads_of(self.document["heads"], shape.heads, shape.group)
        return AdapterProfile(adapter, shape.width)


@dataclass(frozen=True, slots=True)
class OpenedProfile:
    """A drafter's profile, the document of its fusion weights, and perhaps a notice for the user and a reranker."""

    profile: Profile
    fusion: Mapping[str, Any]
    notice: str | None = None
    reranker: RerankerUse | None = None


def user_directory() -> Path:
    """The folder of the user's profiles, in the platform's data folder. ProfileError for a user without a home."""
    if folder := user_folder("data"):
        return folder / "profiles"
    raise ProfileError("this user has no home folder for profiles: set HOME")


def fingerprint(tensors: GgufTensors) -> str:
    """Names a model whatever its quantisation: a hash of first-layer norms, which every GGUF keeps in float32."""
    digest = hashlib.sha256()
    for name in ("blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"):
        digest.update(tensors.read(name).tobytes())
    return digest.hexdigest()[:16]


def users_profile(name: str) -> ProfileFolder | None:
    """The user's own profile of the drafter with this fingerprint. ProfileError if one is malformed, or several fit."""
    if user_folder("data") is None:
        return None
    return _only(name, _folders_in(user_directory()))


def shipped_folders() -> tuple[Path, ...]:
    """The folders of the profiles that ship: scoring heads, and the adapters that are installed."""
    return (*_folders_in(HEADS), *weight_folders("adapter"))


def shipped_profile(name: str) -> ProfileFolder | None:
    """The profile that ships for the drafter with this fingerprint."""
    found = _only(name, shipped_folders())
    return None if found is None else replace(found, ships=True)


def open_profile(
    tensors: GgufTensors, shape: TransformerShape, block_count: int, *, shipped_only: bool = False
) -> OpenedProfile:
    """The profile of a drafter: the user's unless `shipped_only`, else the one that ships, else the generic one."""
    name = fingerprint(tensors)
    found = (None if shipped_only else users_profile(name)) or shipped_profile(name)
    if found is not None:
        reranker, notice = _reranker_or_notice(found)
        return OpenedProfile(found.open(shape), found.fusion, notice, reranker)
    notice = _NOTICE if weight_folders("adapter") else _NO_ADAPTER_NOTICE + f"get it: {weights_command('adapter')}"
    return OpenedProfile(generic_heads(block_count, shape.heads, shape.group), read_folder(GENERIC).fusion, notice)


def _only(name: str, folders: Iterable[Path]) -> ProfileFolder | None:
    found = [profile for profile in map(read_folder, folders) if name in profile.document["fingerprints"]]
    if len(found) > 1:
        places = " and ".join(str(one.path) for one in found)
        raise ProfileError(f"several profiles belong to this drafter: {places}; move all but one elsewhere")
    return found[0] if found else None


def _reranker_or_notice(found: ProfileFolder) -> tuple[RerankerUse | None, str | None]:
    """A profile's reranker, or a sentence about an installed one that cannot be used. ProfileError for the user's."""
    try:
        return found.reranker, None
    except ProfileError as error:
        if not found.ships:
            raise
        return None, f"nothing is reranked: {error}"


def _installed_reranker(names: Sequence[str]) -> RerankerUse | None:
    """The reranker that is installed for a drafter with one of these fingerprints. ProfileError if it is malformed."""
    for folder in weight_folders("reranker"):
        try:
            document = read_json((folder / _INSTALLED).read_bytes())
            if not set(names).isdisjoint(document["fingerprints"]):
                return use_of(document, folder / document["file"])
        except (OSError, NotJsonError, KeyError, TypeError) as error:
            raise ProfileError(f"{folder} is no reranker: {error!r}; get it: {weights_command('reranker')}") from error
    return None


def _folders_in(directory: Path) -> tuple[Path, ...]:
    try:
        return tuple(sorted(document.parent for document in directory.glob(f"*/{DOCUMENT}")))
    except OSError as error:
        raise ProfileError(f"{directory} cannot be read: {error.strerror}") from error


def read_folder(folder: Path) -> ProfileFolder:
    """The profile in a folder. ProfileError if it is malformed."""
    path = folder / DOCUMENT
    try:
        document = read_json(path.read_bytes())
    except (OSError, NotJsonError) as error:
        raise ProfileError(f"{path} is not a profile: {error}; {_REMEDY}") from error
    if not isinstance(document, dict) or not isinstance(document.get("fusion"), dict):
        raise ProfileError(f"{path} has no fusion weights: {_REMEDY}")
    names = document.get("fingerprints")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ProfileError(f"{path} does not list the fingerprints of its drafters: {_REMEDY}")
    return ProfileFolder(folder, document)
