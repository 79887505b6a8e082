"""The form that an answer must have: read from each API, and on its way to a server."""

from typing import Any

import pytest

from winnow_engine.errors import SchemaError
from winnow_engine.prompting.tools import AnswerFormat
from winnow_lsp.http.fields import api_error

from .test_dialects import message, response
from .test_requests import read

SCHEMA: dict[str, Any] = {"type": "object"}
NAMED = {"name": "n", "description": "D.", "strict": True, "schema": SCHEMA}
OPTIONS = {"name": "n", "description": "D.", "strict": True}
CASES: list[tuple[Any, dict[str, Any], AnswerFormat | None]] = [
    (read, {"response_format": {"type": "text"}}, None),
    (read, {"response_format": {"type": "json_object"}}, AnswerFormat(None, {}, "response_format")),
    (read, {"response_format": {"type": "json_schema", "json_schema": NAMED}},
     AnswerFormat(SCHEMA, OPTIONS, "response_format.json_schema.schema")),
    (read, {"response_format": {"type": "json_object", "schema": SCHEMA}},  # as llama-server has it
     AnswerFormat(SCHEMA, {"name": "answer"}, "response_format.schema")),
    (response, {"text": {"verbosity": "low"}}, None),
    (response, {"text": {"format": {"type": "json_object"}}}, AnswerFormat(None, {}, "text.format")),
    (response, {"text": {"format": {"type": "json_schema", **NAMED}}},
     AnswerFormat(SCHEMA, OPTIONS, "text.format.schema")),
    (message, {"output_config": {"effort": "low"}}, None),
    (message, {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
     AnswerFormat(SCHEMA, {"name": "answer"}, "output_config.format.schema")),
    (message, {"output_format": {"type": "json_schema", "schema": SCHEMA}},
     AnswerFormat(SCHEMA, {"name": "answer"}, "output_format.schema")),
]  # fmt: skip


@pytest.mark.parametrize(("reads", "fields", "wanted"), CASES)
def test_a_format_is_read_from_each_api(reads: Any, fields: dict[str, Any], wanted: AnswerFormat | None) -> None:
    assert reads(**fields).asked.format == wanted


def test_a_schema_that_cannot_be_followed_is_a_bad_request_that_names_it() -> None:
    error = api_error(SchemaError("text.format.schema", "text.format.schema.items cannot be followed: not"))
    assert (error.status, error.param, error.code) == (400, "text.format.schema", "unsupported_value")
