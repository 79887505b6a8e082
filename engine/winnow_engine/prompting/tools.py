"""Tools that a model may call, its calls, and the form of its answer, in the terms of OpenAI's API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tools:
    """The functions that a model may call in its next turn.

    `definitions` are `{"type": "function", "function": {"name", "description", "parameters"}}`, with a JSON schema
    for the parameters. It must call something if `required`, and then this function if `only` names one. Without
    `parallel` it calls once at most.
    """

    definitions: tuple[Mapping[str, Any], ...] = ()
    required: bool = False
    only: str | None = None
    parallel: bool = True

    def __bool__(self) -> bool:
        return bool(self.definitions)

    @property
    def functions(self) -> dict[str, Mapping[str, Any]]:
        """The functions by name."""
        return {one["function"]["name"]: one["function"] for one in self.definitions}

    @property
    def wanted(self) -> str | None:
        """The function that must be called, if the model has no choice which."""
        return self.only or (next(iter(self.functions)) if self.required and len(self.definitions) == 1 else None)

    def parameters(self, name: str) -> Mapping[str, Any] | None:
        """The JSON schemas of a function's parameters by name, as far as given; None if it is not on offer."""
        if name not in self.functions:
            return None
        properties = (self.functions[name].get("parameters") or {}).get("properties")
        return properties if isinstance(properties, dict) else {}


NO_TOOLS = Tools()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call. `arguments` is a JSON object as text, as the model wrote it; text from a server may not be JSON."""

    id: str
    name: str
    arguments: str

    @property
    def document(self) -> dict[str, Any]:
        """The call in the API's format."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of the answer's call number `index`: first its id and name, then its arguments bit by bit."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


CallSink = Callable[[CallDelta], None]


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """JSON that `schema` allows, or any object; `options` are OpenAI's, `field` is named in errors."""

    schema: Mapping[str, Any] | None
    options: Mapping[str, Any]
    field: str

    @property
    def document(self) -> dict[str, Any]:
        """The format as chat completions write it."""
        if self.schema is None:
            return {"type": "json_object"}
        return {"type": "json_schema", "json_schema": {**self.options, "schema": self.schema}}
