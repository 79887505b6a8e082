"""Use of a profile's reranker: the model whose layers it has, the tokens it reads, and the weight of its scores.

A profile with a reranker says so in its `profile.json`:

    "reranker": {"file": "reranker.safetensors",  in the folder
                 "model": "qwen2.5-coder-1.5b",   whose layers it has: a registered one, or none for the drafter's own
                 "weight": 1.0,                   of its scores, less their mean
                 "tokens": 16000}                 to read at most

Older profiles call it "reader".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow_engine.errors import ProfileError


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
