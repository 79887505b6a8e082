"""Writes the user's own profiles of drafters (`encoder/profiles` describes them)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from winnow_engine.encoder.profiles import DOCUMENT, ProfileFolder

_ADAPTER, _RERANKER = "adapter.safetensors", "reranker.safetensors"


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
