"""Makes rules of a grammar from JSON schemas, as llguidance reads them, and says what cannot be followed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from llguidance import LLMatcher, LLParserLimits

from winnow_engine.errors import SchemaError

LIMITS = LLParserLimits(verbose_errors=False)
# Small models would indent for ever. It also takes the place of options that a client's schema holds.
_OPTIONS = {"x-guidance": {"whitespace_pattern": r"( |\n{1,2}[ \t]{0,20})?"}}
_MOST_TRIED = 1000  # parts of a schema, to find the one at fault
# Small models write 1234567890… for ever. Whole numbers beyond are not exact in JavaScript anyway.
_LARGEST = 2**53 - 1
_MAPS, _LISTS = ("properties", "$defs", "definitions", "patternProperties"), ("anyOf", "oneOf", "allOf", "prefixItems")


def json_rule(schema: Mapping[str, Any], field: str) -> str:
    """What stands for JSON of a schema in a rule. Raises SchemaError, which names the place behind `field`."""
    if reason := fault(schema):
        definitions = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
        place, reason = _narrowed(schema, reason, lambda part: fault({**definitions, **part}))
        raise SchemaError(field, f"{field}{place} cannot be followed: {reason}")
    return f"%json {_text(schema)}"


def fault(schema: Mapping[str, Any]) -> str:
    """The reason why a schema cannot be followed, "" if it can."""
    try:
        error = LLMatcher.validate_grammar(LLMatcher.grammar_from_json_schema(_text(schema)), limits=LIMITS)
    except BaseException as panic:  # version 1.9.1 cuts some messages inside a character
        if type(panic).__name__ != "PanicException":
            raise
        return "it is not valid, or not supported"
    return first_line(error)


def first_line(error: str) -> str:
    """An error of llguidance, without its state."""
    return " ".join(error.partition("\n<")[0].split())[:300]


def _text(schema: Mapping[str, Any]) -> str:
    return json.dumps({**_bounded(schema), **_OPTIONS}, ensure_ascii=False)


def _bounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with bounds for whole numbers that have none."""
    bounds, kind = dict[str, int](), schema.get("type")
    if "integer" in (kind if isinstance(kind, list) else [kind]) and not schema.keys() & {"enum", "const"}:
        bounds |= {} if "exclusiveMinimum" in schema else {"minimum": -_LARGEST}
        bounds |= {} if "exclusiveMaximum" in schema else {"maximum": _LARGEST}
    return bounds | {name: _bounded_inside(name, value) for name, value in schema.items()}


def _bounded_inside(name: str, value: Any) -> Any:
    if name in _MAPS and isinstance(value, dict):
        return {key: _bounded(one) if isinstance(one, dict) else one for key, one in value.items()}
    if name in _LISTS and isinstance(value, list):
        return [_bounded(one) if isinstance(one, dict) else one for one in value]
    return _bounded(value) if name in ("items", "additionalProperties") and isinstance(value, dict) else value


def _narrowed(
    schema: Mapping[str, Any], reason: str, fault: Callable[[Mapping[str, Any]], str], place: str = "", tried: int = 0
) -> tuple[str, str]:
    """The innermost part with a fault, and that."""
    for where, part in _parts(schema):
        tried += 1
        if tried > _MOST_TRIED:
            break
        if found := fault(part):
            return _narrowed(part, found, fault, place + where, tried)
    return place, reason


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas in a schema, and how to get there."""
    for name, value in schema.items():
        if isinstance(value, dict) and name in _MAPS:
            yield from ((f".{name}.{key}", one) for key, one in value.items() if isinstance(one, dict))
        elif isinstance(value, list) and name in _LISTS:
            yield from ((f".{name}[{n}]", one) for n, one in enumerate(value) if isinstance(one, dict))
        elif isinstance(value, dict) and name in ("items", "additionalProperties"):
            yield f".{name}", value
