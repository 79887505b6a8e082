"""Low-rank updates of a drafter's matrices (LoRA, Hu et al. 2021), and the safetensors files that hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from winnow_cuda.shapes import Float32
from winnow_engine.errors import ProfileError

Tensors = dict[str, Float32]

MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
"""A layer's matrices, which have an update each."""


@dataclass(frozen=True, slots=True)
class LowRankUpdates:
    """Updates of the matrices blk.LAYER.NAME: lora.LAYER.NAME.a [rank, in] and .b [out, rank] among `tensors`."""

    tensors: Mapping[str, Float32]
    scale: float

    @property
    def layers(self) -> int:
        """The number of layers that have updates. ValueError for none."""
        return 1 + max(int(name.split(".")[1]) for name in self.tensors if name.startswith("lora."))

    @property
    def rank(self) -> int:
        """The rank of the updates."""
        return len(self.tensors["lora.0.attn_q.a"])

    def merged(self, name: str, value: Float32) -> Float32:
        """A `Merge`: W ← W + scale · b·a (eq. 3). ProfileError if it does not fit the matrix."""
        stem = name.replace("blk.", "lora.").removesuffix(".weight")
        a, b = self.tensors.get(f"{stem}.a"), self.tensors.get(f"{stem}.b")
        if a is None or b is None:
            return value
        fits(a, b, name, value.shape)
        return np.asarray(value + (self.scale * b) @ a, np.float32)


def fits(a: Float32, b: Float32, name: str, shape: tuple[int, ...]) -> None:
    """ProfileError unless b·a has the shape of the matrix that is called `name`."""
    if a.ndim != 2 or b.ndim != 2 or len(a) != b.shape[1] or (len(b), a.shape[1]) != shape:
        raise ProfileError(f"the update of {name} does not fit the drafter: it belongs to another")


def read_tensors(path: Path) -> tuple[Tensors, float]:
    """A file's tensors by name, as float32, and the scale of its updates. Raises one of `BAD_FILE`."""
    with safe_open(path, framework="numpy") as file:
        try:
            tensors = {name: file.get_tensor(name).astype(np.float32) for name in file.keys()}  # noqa: SIM118
        except (TypeError, AttributeError) as error:
            raise ValueError(f"its tensors are of a type that NumPy lacks, such as bfloat16 ({error})") from error
        return tensors, float((file.metadata() or {})["lora_scale"])


def hash_of(path: Path) -> str:
    """A name for a file's content, 16 characters."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


BAD_FILE = (OSError, SafetensorError, KeyError, IndexError, ValueError)
"""The errors of reading a file that is not as it should be."""
