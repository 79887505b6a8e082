"""Rules for the values of settings: in words, as a check, and as JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

AUTO: Final = "auto"
_SHARE = re.compile(r"\d{1,3}(\.\d+)?%")


@dataclass(frozen=True, slots=True)
class Rule:
    """The values a setting may have: in words, as a check, and as JSON Schema. `metavar` stands for it in `--help`."""

    words: str
    allows: Callable[[Any], bool]
    schema: Mapping[str, Any]
    metavar: str | None = None


def whole(least: int) -> Rule:
    """A whole number of at least `least`."""
    return Rule(
        f"a whole number of at least {least}",
        lambda value: _is_whole(value) and value >= least,
        {"type": "integer", "minimum": least},
    )


def choice(*values: str) -> Rule:
    """One of some texts."""
    return Rule(f"one of {', '.join(values)}", lambda value: value in values, {"type": "string", "enum": list(values)})


def or_null(rule: Rule) -> Rule:
    """The values of a rule, or null."""
    kinds = {**rule.schema, "type": [rule.schema["type"], "null"]}
    return Rule(f"{rule.words}, or null", lambda value: value is None or rule.allows(value), kinds)


def text(words: str, metavar: str) -> Rule:
    """A text that is not blank."""
    return Rule(words, lambda value: isinstance(value, str) and bool(value.strip()), {"type": "string"}, metavar)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


def _is_budget(value: Any) -> bool:
    if isinstance(value, str):
        return value == AUTO or (_SHARE.fullmatch(value) is not None and 0 < share_of(value) <= 1)
    return _is_whole(value) and value >= 1


def share_of(value: str) -> float:
    """A share such as `5%` as a number."""
    return float(value.removesuffix("%")) / 100


def _all_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_TEXTS = {"type": "array", "items": {"type": "string"}}
FLAG = Rule("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})
SECONDS = Rule("a number above 0", _is_positive, {"type": "number", "exclusiveMinimum": 0})
LOCATIONS = Rule("a list of folders or URLs", _all_texts, _TEXTS)
PATTERNS = Rule("a list of patterns", _all_texts, _TEXTS)
BUDGET = Rule(
    "auto, a whole number of at least 1, or a share such as 5%",
    _is_budget,
    {
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "string", "pattern": r"^(auto|(100|(?!0+(\.0+)?%)\d{1,2}(\.\d+)?)%)$"},
        ]
    },
    "auto|N|N%",
)
