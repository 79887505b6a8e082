"""Schemas of every kind that clients send, and a question for each."""

from typing import Any


def record(**properties: Any) -> dict[str, Any]:
    """An object with all of these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


TEXT, WHOLE, TRUTH = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
SHORT = {"type": "string", "maxLength": 40}
TREE = record(name=SHORT, children={"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2})
SCHEMAS: dict[str, dict[str, Any]] = {
    "flat": record(name=SHORT, age=WHOLE),
    "nested": record(person=record(name=SHORT, address=record(city=SHORT, zip=SHORT))),
    "enum": record(colour={"enum": ["red", "green", "blue"]}, size={"type": "string", "enum": ["S", "M", "L"]}),
    "constant": record(kind={"const": "user"}, id=WHOLE),
    "list of texts": record(tags={"type": "array", "items": SHORT, "minItems": 2, "maxItems": 4}),
    "list of objects": record(steps={"type": "array", "items": record(title=SHORT, done=TRUTH), "maxItems": 3}),
    "a list alone": {"type": "array", "items": WHOLE, "minItems": 3, "maxItems": 3},
    "tuple": {"type": "array", "prefixItems": [SHORT, WHOLE, TRUTH], "items": False, "minItems": 3},
    "references": {**record(start={"$ref": "#/$defs/point"}, end={"$ref": "#/$defs/point"}),
                   "$defs": {"point": record(x=WHOLE, y=WHOLE)}},
    "recursion": {**TREE, "$defs": {"tree": record(name=SHORT, children={"type": "array", "maxItems": 0})}},
    "definitions": {"$ref": "#/definitions/user", "definitions": {"user": record(name=SHORT)}},
    "any of": record(value={"anyOf": [SHORT, {"type": "number", "minimum": 0, "maximum": 9}, {"type": "null"}]}),
    "types in a list": record(value={"type": ["integer", "null"]}),
    "tagged union": record(shape={"anyOf": [record(kind={"const": "circle"}, radius=WHOLE),
                                            record(kind={"const": "square"}, side=WHOLE)]}),
    "bounds": record(score={"type": "integer", "minimum": 1, "maximum": 5},
                     share={"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
    "multiples": record(minutes={"type": "integer", "multipleOf": 15, "minimum": 0, "maximum": 120}),
    "pattern": record(code={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3,5}$"}),
    "lengths": record(word={"type": "string", "minLength": 3, "maxLength": 8}),
    "formats": record(day={"type": "string", "format": "date"}, id={"type": "string", "format": "uuid"}),
    "optional": {"type": "object", "properties": {"a": SHORT, "b": WHOLE}, "required": ["a"],
                 "additionalProperties": False},
    "all of": {"allOf": [record(a=SHORT), {"type": "object", "properties": {"a": TEXT}}]},
    "map": {"type": "object", "additionalProperties": WHOLE, "minProperties": 1, "maxProperties": 3},
    "no type": {"properties": {"name": SHORT}, "required": ["name"], "additionalProperties": False},
    "any object": {"type": "object"},
}  # fmt: skip
