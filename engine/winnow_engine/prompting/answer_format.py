"""The form that an answer must have: JSON, perhaps of a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """JSON that an answer must be: a value that `schema` allows, or any object.

    `options` are OpenAI's `name`, `description` and `strict` for a schema. `field` is where the request has it, for
    errors.
    """

    schema: Mapping[str, Any] | None
    options: Mapping[str, Any]
    field: str

    @property
    def document(self) -> dict[str, Any]:
        """The format as chat completions write it."""
        if self.schema is None:
            return {"type": "json_object"}
        return {"type": "json_schema", "json_schema": {**self.options, "schema": self.schema}}
