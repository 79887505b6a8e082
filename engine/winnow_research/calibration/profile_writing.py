"""Writes the user's own profiles of drafters (`encoder/profiles` describes them), and adapters."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from winnow_engine.encoder.low_rank import Tensors
from winnow_engine.encoder.profile import Profile
from winnow_engine.encoder.profiles import (
    DOCUMENT,
    GENERIC,
    OpenedProfile,
    ProfileFolder,
    fingerprint,
    read_folder,
)
from winnow_engine.encoder.weights import GgufTensors
from winnow_engine.errors import ProfileError
from winnow_engine.models.gguf_header import read_header
from winnow_engine.models.registry import weight_folders, weights_command

_ADAPTER, _RERANKER = "adapter.safetensors", "reranker.safetensors"


def fingerprint_of(drafter: Path) -> str:
    """The fingerprint of the model in a file. Raises what `read_header` does, and UnsupportedModelError."""
    return fingerprint(GgufTensors(drafter, read_header(drafter)))


def with_fusion(profile: Profile) -> OpenedProfile:
    """A profile with the fusion weights of a shipped one of its kind. ProfileError if none is there."""
    folder = GENERIC if profile.taps else next(iter(weight_folders("adapter")), None)
    if folder is None:
        raise ProfileError(f"no adapter is installed to take fusion weights from; get it: {weights_command('adapter')}")
    return OpenedProfile(profile, read_folder(folder).fusion)


def write_tensors(path: Path, tensors: Tensors, scale: float) -> None:
    """The inverse of `read_tensors`. Tensors are stored as float16. Equal tensors give equal files."""
    # save_file assumes C order. With more than one entry of metadata, their order would not be fixed.
    rows = {name: value.astype(np.float16, order="C") for name, value in tensors.items()}
    save_file(rows, path, {"lora_scale": str(scale)})


def write_profile(
    folder: Path,
    name: str,
    fusion: Mapping[str, Any],
    heads: Sequence[Mapping[str, Any]] | None = None,
    adapter: Path | None = None,
    before: ProfileFolder | None = None,
) -> None:
    """Write the profile of the drafter with fingerprint `name`: with a copy of `adapter`, or with `heads`.

    It keeps the reranker of the profile `before` it, and replaces the folder's profile. `profile.json` is written last,
    so that no half-written profile is found. ProfileError if that reranker lies outside its folder.
    """
    assert (heads is None) != (adapter is None), "a profile has an adapter or heads"
    reranker = before.reranker if before is not None else None
    folder.mkdir(parents=True, exist_ok=True)
    if adapter is not None:
        _copy(adapter, folder / _ADAPTER)
    scoring = {"adapter": _ADAPTER} if heads is None else {"heads": list(heads)}
    document: dict[str, Any] = {"fingerprints": [name], **scoring, "fusion": fusion}
    if reranker is not None:
        _copy(reranker.file, folder / _RERANKER)
        document["reranker"] = {**asdict(reranker), "file": _RERANKER}
    part = folder / f"{DOCUMENT}.part"
    part.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    part.replace(folder / DOCUMENT)


def _copy(file: Path, to: Path) -> None:
    """Copy a file to where it may lie already."""
    if to.exists() and file.samefile(to):
        return
    part = to.with_name(f"{to.name}.part")
    shutil.copyfile(file, part)
    part.replace(to)
