"""What the value of a setting may be.

A rule says it in words, checks it, and gives it as JSON Schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

AUTO: Final = "auto"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a setting's value may be: in words, as a check, and as JSON Schema. `metavar` stands for it in `--help`."""

    words: str
    allows: Callable[[Any], bool]
    schema: Mapping[str, Any]
    metavar: str | None = None


def whole(least: int, most: int | None = None, words: str = "") -> Rule:
    """A whole number from `least` to `most`."""

    def allows(value: Any) -> bool:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return is_whole and value >= least and (most is None or value <= most)

    schema = {"type": "integer", "minimum": least, **({} if most is None else {"maximum": most})}
    return Rule(words or f"a whole number of at least {least}", allows, schema)


def number(words: str, allows: Callable[[float], bool], metavar: str | None = None, **schema: Any) -> Rule:
    """A number, where `allows` says so of it too."""

    def check(value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and allows(value)

    return Rule(words, check, {"type": "number", **schema}, metavar)


def choice(*values: str) -> Rule:
    """One of some texts."""
    return Rule(f"one of {', '.join(values)}", lambda value: value in values, {"type": "string", "enum": list(values)})


def or_null(rule: Rule) -> Rule:
    """What `rule` allows, or null."""
    kinds = {**rule.schema, "type": [rule.schema["type"], "null"]}
    return Rule(f"{rule.words}, or null", lambda value: value is None or rule.allows(value), kinds)


def or_auto(rule: Rule) -> Rule:
    """What `rule` allows, or AUTO."""
    schema = {"anyOf": [dict(rule.schema), {"const": AUTO}]}
    return Rule(f"{rule.words}, or {AUTO}", lambda value: value == AUTO or rule.allows(value), schema)


def text(words: str, metavar: str) -> Rule:
    """A text that is not blank."""
    return Rule(words, lambda value: isinstance(value, str) and bool(value.strip()), {"type": "string"}, metavar)


def _all_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


FLAG = Rule("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})
SHARE = number("a number above 0 and at most 1", lambda v: 0 < v <= 1, exclusiveMinimum=0, maximum=1)
LOCATIONS = Rule("a list of folders or URLs", _all_texts, {"type": "array", "items": {"type": "string"}}, "DIR|URL")
PATTERNS = Rule("a list of patterns", _all_texts, {"type": "array", "items": {"type": "string"}}, "PATTERN")
