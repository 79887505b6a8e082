"""Which profile belongs to a drafter: one a calibration wrote, one Winnow ships, or the generic one.

A profile is a JSON document with either "adapter", a file beside it, or "heads", perhaps with "keys", as what these are
kept ("int8", or "float16"), and with "fusion", the weights with which its evidence is fused with the rest
(`selection/fusion_weights.py`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from winnow_cuda.shapes import TransformerShape
from winnow_engine.drafter.adapter import AdapterProfile
from winnow_engine.drafter.heads import generic_heads, heads_of
from winnow_engine.drafter.profile import Profile
from winnow_engine.drafter.weights import GgufTensors
from winnow_engine.errors import ProfileError

_SHIPPED = Path(__file__).parent
_GENERIC = "generic.json"
_BY_FINGERPRINT = {
    "3c51608417b386dc": "qwen2.5-coder-0.5b.json",
    "715f8be624f4b8e5": "smollm2-135m.json",
}
_NOTICE = (
    "no profile ships for this drafter: scoring with a generic one, which keeps fewer right spans; "
    "`winnow calibrate` makes one"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A drafter's profile, the document of its fusion weights, and a notice where it is only the generic one."""

    profile: Profile
    fusion: Mapping[str, Any]
    notice: str | None = None


def calibrated_directory() -> Path:
    """Where `winnow calibrate` writes: `$WINNOW_PROFILES_DIR`, or `profiles` in the platform's data directory."""
    override = os.environ.get("WINNOW_PROFILES_DIR")
    return Path(override).expanduser() if override else Path(platformdirs.user_data_dir("winnow")) / "profiles"


def fingerprint(tensors: GgufTensors) -> str:
    """Names a model whatever its quantisation: a hash of first-layer norms, which every GGUF keeps in float32."""
    digest = hashlib.sha256()
    for name in ("blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"):
        digest.update(tensors.read(name).tobytes())
    return digest.hexdigest()[:16]


def profile_for(tensors: GgufTensors, shape: TransformerShape, block_count: int) -> Found:
    """The profile of a drafter. ProfileError if its document is malformed."""
    name = fingerprint(tensors)
    for path in (calibrated_directory() / f"{name}.json", _SHIPPED / _BY_FINGERPRINT.get(name, "none")):
        if path.is_file():
            document = read_document(path)
            return Found(_profile(path, document, shape), document["fusion"])
    heads = generic_heads(block_count, shape.heads, shape.group)
    return Found(heads, read_document(_SHIPPED / _GENERIC)["fusion"], _NOTICE)


def fusion_for(profile: Profile) -> Mapping[str, Any]:
    """The fusion weights for a profile that is not a drafter's own: those of a shipped one of its kind."""
    name = _GENERIC if profile.taps else _BY_FINGERPRINT["3c51608417b386dc"]
    found: Mapping[str, Any] = read_document(_SHIPPED / name)["fusion"]
    return found


def adapter_of(tensors: GgufTensors) -> str | None:
    """The name of the adapter shipped for a drafter, if there is one."""
    name = _BY_FINGERPRINT.get(fingerprint(tensors))
    return read_document(_SHIPPED / name).get("adapter") if name else None


def read_document(path: Path) -> dict[str, Any]:
    """A profile's document. ProfileError if it is none."""
    try:
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ProfileError(f"{path} is not a profile: {error}; run `winnow calibrate` again") from error
    if not isinstance(document, dict) or "fusion" not in document:
        raise ProfileError(f"{path} has no fusion weights: run `winnow calibrate` again")
    return document


def _profile(path: Path, document: Mapping[str, Any], shape: TransformerShape) -> Profile:
    if "adapter" in document:
        return AdapterProfile(_SHIPPED / document["adapter"])
    if "heads" not in document:
        raise ProfileError(f"{path} has neither an adapter nor heads: run `winnow calibrate` again")
    return heads_of(document["heads"], shape.group, document.get("keys", "int8"))
