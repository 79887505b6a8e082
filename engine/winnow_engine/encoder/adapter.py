"""`adapter` profiles: a low-rank update of the drafter's layers and two trained heads on their last hidden state.

With x̂ = (x / rms(x) − mu) / sd:
- maxsim (64 columns): a key per token, unit(K x̂); a query per token, unit(Q x̂), with weight sigmoid(qw·x̂);
- pool (256 columns): a vector per unit, unit(Σ softplus(kw·x̂) · unit(K x̂)), and likewise one for the question.
A head's score of a unit is e^sc0 · similarity + sc1 · ln(tokens of the unit / 100).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from winnow_cuda.blas_threads import one_blas_thread
from winnow_cuda.ops.elementwise import standardise
from winnow_cuda.ops.scoring import maxsim, unit_products
from winnow_cuda.shapes import Batch, Encoder, Float16, Float32, Int32, Int64, KeyHead, Readout, runs_between
from winnow_engine.encoder.low_rank import BAD_FILE, LowRankUpdates, Tensors, hash_of, read_tensors
from winnow_engine.encoder.profile import Arrays, QuestionStates, ReadArrays
from winnow_engine.encoder.weights import Merge
from winnow_engine.errors import ProfileError


def unit_length(x: Float32) -> Float32:
    """The rows of `x` with length 1; rows of zeros stay."""
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12), np.float32)


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

    def queries(self, hidden: Float32) -> tuple[Float32, Float32]:
        """Unit queries [N, columns] and weights [N]."""
        x = standardise(hidden, self.mu, self.sd)
        sigmoid = 0.5 * (1 + np.tanh(x @ self.qw[0] / 2))
        return unit_length(x @ self.q.T), np.asarray(sigmoid, np.float32)

    def scores(self, similarity: Float32, tokens: Int64 | Float32) -> Float32:
        """e^sc0 · similarity + sc1 · ln(tokens / 100), float32 like `similarity`, whose last axis has the units."""
        lengths = np.log(np.maximum(tokens, 1) / 100)
        return np.asarray(np.exp(self.sc[0]) * similarity + self.sc[1] * lengths, np.float32)


class AdapterProfile:
    """Scores with a trained adapter from a safetensors file. `tensors` has its tensors by name, as float32."""

    taps: frozenset[int] = frozenset()

    def __init__(self, path: Path, width: int | None = None) -> None:
        """Read `path`. ProfileError if it is no adapter, or not for hidden states of `width` columns."""
        try:
            self.tensors, self.scale = read_tensors(path)
            self._maxsim, self._pool = (_head(self.tensors, name) for name in ("maxsim", "pool"))
            updates = LowRankUpdates(self.tensors, self.scale)
            self.merge: Merge = updates.merged
            self.layers, self.rank = updates.layers, updates.rank
        except BAD_FILE as error:
            raise ProfileError(f"{path} is not a drafter adapter: {error}") from error
        if width is not None and self._maxsim.k.shape[1] != width:
            raise ProfileError(
                f"{path} belongs to a drafter with {self._maxsim.k.shape[1]} columns, this one has {width}"
            )
        self.identity = "adapter-" + hash_of(path)

    @property
    def readout(self) -> Readout:
        """The maxsim head gives keys by token, the pool head by unit."""
        token, unit = self._maxsim, self._pool
        return Readout(
            KeyHead(token.k, token.mu, token.sd), KeyHead(np.concatenate([unit.k, unit.kw]), unit.mu, unit.sd)
        )

    def read(self, encoder: Encoder, batch: Batch, runs: Int32, check: Callable[[], None]) -> ReadArrays:
        """See `Profile`: int8 keys with their scales by token, sums by run."""
        keys = encoder.encode_keys(batch, runs, check)
        return ReadArrays({"codes": keys.codes, "scales": keys.scales.astype(np.float16)}, {"sums": keys.sums})

    def keep(self, read: ReadArrays, units: Int32, count: int) -> Arrays:
        """The keys and a float16 vector per unit: 66 bytes per token and 512 per unit."""
        of_runs = read.runs["sums"]
        sums = np.zeros((count, of_runs.shape[1]), np.float32)
        if len(np.unique(units)) == len(units):
            sums[units] = of_runs + np.float32(0)  # which makes 0 of -0, as adding them up does
        else:
            np.add.at(sums, units, of_runs)
        return {**read.tokens, "pooled": unit_length(sums).astype(np.float16)}

    def score(self, arrays: Arrays, unit_offsets: Int64, question: QuestionStates) -> dict[str, Float32]:
        """Scores `maxsim` and `pooled`."""
        return self._scores(arrays, runs_between(unit_offsets), arrays["pooled"], question)

    def score_units(
        self, arrays: Arrays, unit_offsets: Int64, units: Int64, question: QuestionStates
    ) -> dict[str, Float32]:
        """See `TwoLevelProfile`."""
        runs = np.stack([unit_offsets[units], unit_offsets[units + 1]], axis=1)
        with one_blas_thread():  # for so few rows a second one costs more than it does: 26 ms beside other work
            return self._scores(arrays, runs, arrays["pooled"][units], question)

    def score_coarsely(
        self, arrays: Arrays, unit_offsets: Int64, questions: Sequence[QuestionStates]
    ) -> dict[str, Float32]:
        """See `TwoLevelProfile`: `pooled`, in one pass over the units' vectors."""
        with one_blas_thread():
            queries = np.stack([self._pool_query(one) for one in questions])
        cosines = unit_products(arrays["pooled"], queries)
        return {"pooled": self._pool.scores(cosines, np.diff(unit_offsets).astype(np.float32))}

    def _scores(self, arrays: Arrays, runs: Int64, pooled: Float16, question: QuestionStates) -> dict[str, Float32]:
        queries, weights = self._maxsim.queries(question.encoded.hidden)
        best = maxsim(arrays["codes"], arrays["scales"], runs, queries, weights)
        (cosine,) = unit_products(pooled, self._pool_query(question)[None])
        tokens = runs[:, 1] - runs[:, 0]
        return {"maxsim": self._maxsim.scores(best, tokens), "pooled": self._pool.scores(cosine, tokens)}

    def _pool_query(self, question: QuestionStates) -> Float32:
        vectors, importance = self._pool.queries(question.encoded.hidden)
        return unit_length(importance @ vectors)


def _head(tensors: Tensors, name: str) -> Head:
    return Head(**{field: tensors[f"{name}.{field}"] for field in ("k", "q", "kw", "qw", "mu", "sd", "sc")})
