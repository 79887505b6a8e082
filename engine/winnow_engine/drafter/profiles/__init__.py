"""The profiles Winnow ships, and which drafter each belongs to."""

from __future__ import annotations

import hashlib
from pathlib import Path

from winnow_cuda.shapes import TransformerShape
from winnow_engine.drafter.adapter import AdapterProfile
from winnow_engine.drafter.heads import generic_heads, load_heads
from winnow_engine.drafter.profile import Profile
from winnow_engine.drafter.weights import GgufTensors

_HERE = Path(__file__).parent


def fingerprint(tensors: GgufTensors) -> str:
    """Names a model whatever its quantisation: a hash of first-layer norms, which every GGUF keeps in float32."""
    digest = hashlib.sha256()
    for name in ("blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"):
        digest.update(tensors.read(name).tobytes())
    return digest.hexdigest()[:16]


_SHIPPED = {
    "3c51608417b386dc": "qwen2.5-coder-0.5b.safetensors",
    "715f8be624f4b8e5": "smollm2-135m.json",
}


def shipped_profile(tensors: GgufTensors, shape: TransformerShape, block_count: int) -> tuple[Profile, str | None]:
    """The profile for a drafter, and a notice to show where it is only the generic one."""
    name = _SHIPPED.get(fingerprint(tensors))
    if name is None:
        notice = "no profile ships for this drafter: scoring with a generic one, which keeps fewer right spans"
        return generic_heads(block_count, shape.heads, shape.group), notice
    if name.endswith(".json"):
        return load_heads(_HERE / name, shape.group), None
    return AdapterProfile(_HERE / name), None
