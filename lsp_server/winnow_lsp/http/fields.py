"""Reads fields of a request and checks their types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from winnow_lsp.http.replies import ApiError


def typed(document: Mapping[str, Any], name: str, kind: type | tuple[type, ...], default: Any, place: str = "") -> Any:
    """A field's value, `default` where it is missing. Raises ApiError, which names the field in its `place`."""
    value = document.get(name)
    value = default if value is None else value
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ApiError(400, f"{place}{name} is of the wrong type", f"{place}{name}")
    return value


def json_object(text: str, place: str) -> dict[str, Any]:
    """The JSON object in a text; an empty text counts as an empty object. Raises ApiError."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ApiError(400, f"{place} must be a JSON object as text", place)
    return found
