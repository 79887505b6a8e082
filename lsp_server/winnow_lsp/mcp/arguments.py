"""Arguments of a tool as agents write them, read by the schema that these are shown.

Models send lists as text, numbers as text or fractions, null for what they leave out, and names of other tools. An
error would cost them a call, and often they only repeat it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from winnow_engine.errors import NotJsonError
from winnow_engine.untrusted import printable, read_json

_OTHER_NAMES = {
    "query": "question", "regex": "pattern", "path": "paths", "paths": "path", "glob": "paths", "file": "path",
    "file_path": "path", "line": "start_line", "max_tokens": "budget",
}  # fmt: skip
_LARGEST = 10**9
_SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a tool; those that it does not have are empty. `notices` say how some were understood."""

    question: str = ""
    pattern: str = ""
    paths: tuple[str, ...] = ()
    path: str = ""
    start_line: int | None = None
    end_line: int | None = None
    budget: int = 0
    notices: tuple[str, ...] = ()


def read_arguments(schema: Mapping[str, Any], given: Mapping[str, Any]) -> Arguments:
    """The arguments with defaults, and notices about what was ignored or taken otherwise. Raises ValueError."""
    properties, notices = schema["properties"], list[str]()
    values = {name: one["default"] for name, one in properties.items() if "default" in one}
    for name, value in _named(properties, given, notices):
        values[name] = _READERS[properties[name]["type"]](name, properties[name], value, notices)
    for name in schema["required"]:
        if not values.get(name):
            raise ValueError(f"{name} is missing: {properties[name]['description']}")
    return Arguments(**values, notices=tuple(notices))


def _named(properties: Mapping[str, Any], given: Mapping[str, Any], notices: list[str]) -> Iterator[tuple[str, Any]]:
    """The arguments that say something, by the names of the schema. What is spelt as there comes first."""
    seen, unknown = set[str](), []
    for written in sorted(given, key=lambda name: name not in properties):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", written).lower()
        for _ in range(2):  # `file` means `path`, and where there is none, `paths`
            name = name if name in properties else _OTHER_NAMES.get(name, name)
        if name not in properties or name in seen:
            unknown.append(printable(written[:_SHOWN_CHARACTERS]))
        elif given[written] not in (None, "", [], {}):
            seen.add(name)
            yield name, given[written]
    if unknown:
        notices.append(f"ignored: {', '.join(unknown)} (the arguments are {', '.join(properties)})")


def _text(name: str, schema: Mapping[str, Any], value: Any, _: list[str]) -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str | int | float):
        raise ValueError(f"{name} has to be text, not {_shown(value)}")
    text = str(value)
    if len(text) > schema["maxLength"]:
        raise ValueError(f"{name} has {len(text):,} characters: it may have {schema['maxLength']:,}")
    return text


def _number(name: str, schema: Mapping[str, Any], value: Any, notices: list[str]) -> int:
    try:
        number = math.nan if isinstance(value, bool) else float(re.sub(r"[,_\s]", "", str(value)))
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ValueError(f"{name} has to be a whole number, not {_shown(value)}")
    taken = int(max(schema.get("minimum", -_LARGEST), min(number, schema.get("maximum", _LARGEST))))
    if taken != int(max(-_LARGEST - 1, min(number, _LARGEST + 1))):
        notices.append(f"{name} is {_shown(value)}: taken as {taken:,}")
    return taken


def _list(name: str, schema: Mapping[str, Any], value: Any, notices: list[str]) -> tuple[str, ...]:
    """Some texts: in a list, as the JSON of one, or one a line."""
    items = _listed(value) if isinstance(value, str) else value
    if not isinstance(items, list):
        raise ValueError(f"{name} has to be a list of texts, not {_shown(value)}")
    if len(items) > schema["maxItems"]:
        raise ValueError(f"{name} has {len(items):,} items: it may have {schema['maxItems']}")
    return tuple(_text(name, schema["items"], item, notices) for item in items if item not in (None, ""))


def _listed(text: str) -> list[Any]:
    try:
        found = read_json(text) if text.lstrip().startswith("[") else None
    except NotJsonError:
        found = None
    return found if isinstance(found, list) else [line.strip() for line in text.splitlines()]


def _shown(value: object) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < _LARGEST else "a number of many digits"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


_READERS = {"string": _text, "integer": _number, "array": _list}
