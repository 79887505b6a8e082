"""The one model that is served, under its own name and others."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from winnow_lsp.http.errors import ApiError


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model's name, and its aliases: other names, or patterns of names such as `claude-*`."""

    name: str
    aliases: tuple[str, ...] = ()

    def asked(self, name: Any) -> str:
        """The name that a request asks for, this model's if it names none. Raises ApiError for another model's."""
        if name is None or name == self.name:
            return self.name
        if isinstance(name, str) and any(fnmatchcase(name, alias) for alias in self.aliases):
            return name
        raise ApiError(404, f"there is no model {name!r} here, only {self.name!r}", "model", "model_not_found")

    def entry(self, name: str, context: int | None) -> dict[str, Any]:
        """The model as OpenAI and Anthropic describe one, with vLLM's field for the context once that is known."""
        entry = {"id": name, "object": "model", "type": "model", "display_name": name, "owned_by": "winnow"}
        known = {} if context is None else {"max_model_len": context}
        return {**entry, "created": 0, "created_at": "1970-01-01T00:00:00Z", **known}

    def list(self, context: int | None) -> dict[str, Any]:
        """The list of the model's names; patterns are no names."""
        names = [self.name, *(alias for alias in self.aliases if not set(alias) & set("*?["))]
        entries = [self.entry(name, context) for name in names]
        return {"object": "list", "data": entries, "first_id": names[0], "last_id": names[-1], "has_more": False}
