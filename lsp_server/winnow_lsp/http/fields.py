"""Reads fields of a request and checks their names and types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from winnow_engine.errors import NotJsonError
from winnow_engine.untrusted import read_json
from winnow_lsp.http.errors import ApiError

_EMPTY: tuple[Any, ...] = (None, "", [], {})


def typed(document: Mapping[str, Any], name: str, kind: type | tuple[type, ...], default: Any, place: str = "") -> Any:
    """A field's value, `default` where it is missing. Raises ApiError, which names the field in its `place`."""
    value = document.get(name)
    value = default if value is None else value
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ApiError(400, f"{place}{name} is of the wrong type", f"{place}{name}")
    return value


def object_at(value: Any, place: str) -> dict[str, Any]:
    """The value if it is an object. Raises ApiError, which names its place."""
    if not isinstance(value, dict):
        raise ApiError(400, f"{place} is not an object", place)
    return value


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object in a text, None if it is none; an empty text counts as an empty object."""
    try:
        found = read_json(text or "{}")
    except NotJsonError:
        return None
    return found if isinstance(found, dict) else None


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of an object that matter.

    `read` count, or nobody need hear that they do not. `refused` would change what the answer means. `neutral` values
    ask for what happens anyway. All others, known or not, are ignored. Empty fields are as good as left out.
    """

    read: frozenset[str]
    refused: frozenset[str] = frozenset()
    neutral: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def check(self, document: Mapping[str, Any], ignored: set[str], place: str = "") -> None:
        """Add the names of ignored fields to `ignored`. Raises ApiError for a field that is refused."""
        for name, value in document.items():
            if name in self.read or value in _EMPTY or value in self.neutral.get(name, ()):
                continue
            if name in self.refused:
                raise ApiError(
                    400, f"{place}{name} is not supported here: leave it out", f"{place}{name}", "unsupported_parameter"
                )
            ignored.add(name)
