"""Reads the form that an answer must have, as each API writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from winnow_engine.prompting.answer_format import AnswerFormat
from winnow_lsp.http.errors import ApiError
from winnow_lsp.http.fields import typed

_KINDS = ("text", "json_object", "json_schema")
_MOST_SCHEMA = 256 << 10  # characters


def read_format(document: Mapping[str, Any], name: str, place: str = "") -> AnswerFormat | None:
    """The format in the field `name`, None for text. Raises ApiError, which names the field."""
    given = typed(document, name, dict, {"type": "text"}, place)
    field, kind = f"{place}{name}", given.get("type")
    if kind not in _KINDS:
        raise ApiError(400, f"{field}.type must be one of {', '.join(_KINDS)}", f"{field}.type", "unsupported_value")
    if kind == "text":
        return None
    if kind == "json_schema" and name == "response_format" and "schema" not in given:
        given, field = typed(given, kind, dict, {}, f"{field}."), f"{field}.{kind}"
    elif kind == "json_object" and "schema" not in given:
        return AnswerFormat(None, {}, field)
    return AnswerFormat(_schema(given, field), _options(given, field), f"{field}.schema")


def _schema(given: Mapping[str, Any], field: str) -> dict[str, Any]:
    schema: dict[str, Any] | None = given.get("schema")
    if not isinstance(schema, dict):
        raise ApiError(400, f"{field}.schema must be an object", f"{field}.schema")
    size = len(str(schema))
    if size > _MOST_SCHEMA:
        raise ApiError(400, f"{field}.schema has {size:,} characters, over {_MOST_SCHEMA:,}", f"{field}.schema")
    return schema


def _options(given: Mapping[str, Any], field: str) -> dict[str, Any]:
    options = {"name": typed(given, "name", str, "answer", f"{field}.")}
    if description := typed(given, "description", str, "", f"{field}."):
        options["description"] = description
    strict = typed(given, "strict", bool, None, f"{field}.") if given.get("strict") is not None else None
    return options if strict is None else options | {"strict": strict}
