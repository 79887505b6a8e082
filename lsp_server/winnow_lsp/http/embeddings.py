"""OpenAI's embeddings: `/v1/embeddings`, a vector for each text."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winnow_cuda.shapes import Float32
from winnow_engine.encoder.adapter import unit_length
from winnow_lsp.http.fields import ApiError, Fields, typed
from winnow_lsp.http.requests import ServedModel, read_document, read_limit

_REQUEST = Fields(frozenset({"model", "input", "encoding_format", "dimensions"}))
_MOST_TEXTS, _MOST_CHARACTERS = 2048, 1 << 20


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """Texts to embed. `dimensions` are the columns wanted, all if None; `encoded` asks for base64 of float32."""

    texts: tuple[str, ...]
    model: str
    dimensions: int | None
    encoded: bool
    ignored: tuple[str, ...]


def read_request(body: bytes, model: ServedModel) -> EmbeddingRequest:
    """Parse a request for vectors by `model`. Raises ApiError, which names the field."""
    ignored = set[str]()
    document = read_document(body, model, _REQUEST, ignored)
    form = typed(document, "encoding_format", str, "float")
    if form not in ("float", "base64"):
        raise ApiError(400, "encoding_format must be float or base64", "encoding_format", "unsupported_value")
    dimensions = read_limit(document, "dimensions")
    return EmbeddingRequest(_texts(document), document["model"], dimensions, form == "base64", tuple(sorted(ignored)))


def _texts(document: Mapping[str, Any]) -> tuple[str, ...]:
    given = document.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        message = "input must be a text or a list of texts, none of them empty; tokens of another model are not read"
        raise ApiError(400, message, "input", "unsupported_value")
    if not 0 < len(texts) <= _MOST_TEXTS or sum(map(len, texts)) > _MOST_CHARACTERS:
        limits = f"1 to {_MOST_TEXTS:,} texts with {_MOST_CHARACTERS:,} characters at most"
        raise ApiError(400, f"input must have {limits}: send several requests", "input")
    return tuple(texts)


def embeddings(request: EmbeddingRequest, vectors: Float32, tokens: int) -> dict[str, Any]:
    """The reply with the vectors of a request's texts, float32 [N, columns]. Raises ApiError for too many columns."""
    columns = vectors.shape[1]
    if request.dimensions and request.dimensions > columns:
        raise ApiError(400, f"dimensions must be at most {columns}", "dimensions")
    cut = unit_length(vectors[:, : request.dimensions])
    rows = [b64encode(row.astype("<f4").tobytes()).decode() if request.encoded else row.tolist() for row in cut]
    data = [{"object": "embedding", "index": number, "embedding": row} for number, row in enumerate(rows)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": request.model, "usage": usage}
