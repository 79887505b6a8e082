"""`adapter` profiles: a low-rank update of the drafter's layers and two trained heads on their last hidden state.

With x̂ = (x / rms(x) − mu) / sd:
- maxsim (64 columns): key unit(K x̂) a token, query unit(Q x̂) with weight sigmoid(qw·x̂);
- pool (256 columns): a vector a unit, unit(Σ softplus(kw·x̂) · unit(K x̂)), and a vector for the question alike.
Each head's evidence is e^sc0 · similarity + sc1 · ln(tokens of the unit / 100).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from winnow_cuda.ops.maxsim import maxsim
from winnow_cuda.ops.quantise import quantise_rows
from winnow_cuda.shapes import Encoded, Float32, Int64
from winnow_engine.drafter.profile import Arrays, QuestionStates
from winnow_engine.drafter.weights import Merge
from winnow_engine.errors import ProfileError

_EPS = 1e-6


def _unit(x: Float32) -> Float32:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12), np.float32)


def _softplus(x: Float32) -> Float32:
    return np.asarray(np.logaddexp(np.float32(0), x), np.float32)


def _sigmoid(x: Float32) -> Float32:
    return np.asarray(0.5 * (1 + np.tanh(x / 2)), np.float32)


@dataclass(frozen=True, slots=True)
class Head:
    """One trained head; k and q are [columns, width], kw and qw [1, width], sc [2]."""

    k: Float32
    q: Float32
    kw: Float32
    qw: Float32
    mu: Float32
    sd: Float32
    sc: Float32

    def normalise(self, hidden: Float32) -> Float32:
        """x̂, float32 [T, width]."""
        rms = np.sqrt(np.mean(hidden * hidden, axis=-1, keepdims=True) + _EPS)
        return np.asarray((hidden / rms - self.mu) / self.sd, np.float32)

    def keys(self, hidden: Float32) -> tuple[Float32, Float32]:
        """Unit keys [T, columns] and pooling weights [T]."""
        x = self.normalise(hidden)
        return _unit(x @ self.k.T), _softplus(x @ self.kw[0])

    def queries(self, hidden: Float32) -> tuple[Float32, Float32]:
        """Unit queries [N, columns] and weights [N]."""
        x = self.normalise(hidden)
        return _unit(x @ self.q.T), _sigmoid(x @ self.qw[0])

    def evidence(self, similarity: Float32, unit_offsets: Int64) -> Float32:
        """e^sc0 · similarity + sc1 · ln(tokens / 100), float32 [U]."""
        tokens = np.maximum(np.diff(unit_offsets), 1)
        return np.asarray(np.exp(self.sc[0]) * similarity + self.sc[1] * np.log(tokens / 100), np.float32)


class AdapterProfile:
    """Scores with a trained adapter, read from a safetensors file."""

    taps: frozenset[int] = frozenset()

    def __init__(self, path: Path) -> None:
        """Read `path`; ProfileError if it is no adapter."""
        try:
            with safe_open(path, framework="numpy") as file:
                tensors = {name: file.get_tensor(name).astype(np.float32) for name in file.keys()}  # noqa: SIM118
                metadata = file.metadata() or {}
            self._maxsim, self._pool = (_head(tensors, name) for name in ("maxsim", "pool"))
            self._scale = np.float32(metadata["lora_scale"])
        except (OSError, SafetensorError, KeyError) as error:
            raise ProfileError(f"{path} is not a drafter adapter: {error}") from error
        self._lora = {name: value for name, value in tensors.items() if name.startswith("lora.")}
        self.layers = 1 + max(int(name.split(".")[1]) for name in self._lora)
        self.identity = "adapter-" + hashlib.sha256(path.read_bytes()).hexdigest()[:16]

    @property
    def merge(self) -> Merge:
        """W ← W + scale · b·a (LoRA, Hu et al. 2021, eq. 3)."""

        def merged(name: str, value: Float32) -> Float32:
            stem = name.replace("blk.", "lora.").removesuffix(".weight")
            a, b = self._lora.get(f"{stem}.a"), self._lora.get(f"{stem}.b")
            return value if a is None or b is None else value + self._scale * (b @ a)

        return merged

    def keep(self, encoded: Encoded, unit_offsets: Int64) -> Arrays:
        """int8 keys with their scales by token, float16 pooled vectors by unit: 66 bytes a token, 512 a unit."""
        codes, scales = quantise_rows(self._maxsim.keys(encoded.hidden)[0])
        vectors, weights = self._pool.keys(encoded.hidden)
        sums = _sum_by_unit(vectors * weights[:, None], unit_offsets)
        return {
            "codes": codes,
            "scales": scales.astype(np.float16),
            "pooled": _unit(sums).astype(np.float16),
        }

    def score(
        self, arrays: Arrays, unit_offsets: Int64, question: QuestionStates, nulls: Sequence[QuestionStates]
    ) -> dict[str, Float32]:
        """Evidence `maxsim` and `pooled`; training made null questions unnecessary."""
        queries, weights = self._maxsim.queries(question.encoded.hidden)
        scales = arrays["scales"].astype(np.float32)
        best = maxsim(arrays["codes"], scales, unit_offsets, queries, weights)
        vectors, importance = self._pool.queries(question.encoded.hidden)
        cosine = arrays["pooled"].astype(np.float32) @ _unit(importance @ vectors)
        return {
            "maxsim": self._maxsim.evidence(best, unit_offsets),
            "pooled": self._pool.evidence(cosine, unit_offsets),
        }


def _head(tensors: dict[str, Float32], name: str) -> Head:
    return Head(**{field: tensors[f"{name}.{field}"] for field in ("k", "q", "kw", "qw", "mu", "sd", "sc")})


def _sum_by_unit(rows: Float32, unit_offsets: Int64) -> Float32:
    """Σ of each unit's rows, float32 [U, columns]; zeros for a unit without rows."""
    sums = np.zeros((len(unit_offsets) - 1, rows.shape[1]), np.float32)
    filled = np.flatnonzero(np.diff(unit_offsets))
    if len(filled):
        sums[filled] = np.add.reduceat(rows, unit_offsets[filled], axis=0)
    return sums
