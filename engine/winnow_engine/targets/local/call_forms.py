"""The forms in which models write calls, and the grammar of an answer that has to have one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from winnow_engine.prompting.tools import AnswerFormat, Tools
from winnow_engine.targets.local.grammar import fault, json_rule

_OBJECT: dict[str, Any] = {"type": "object"}
# Some models write a call as JSON alone, whatever their template says. Text is what nobody would read as that.
_BARE = '{"name": "'
_ANY, _SPACE = r"(.|\n)*", r"[ \t\n]*"
_LINES, _BEGUN = rf"({_ANY}\n)?", rf"{_SPACE}(```[a-z]*{_SPACE})?\{{{_SPACE}"
_PARAMETER_END = "\n</parameter>"


@dataclass(frozen=True, slots=True)
class CallForm:
    """A call is `opening`, name, `middle`, arguments, `closing`: JSON, or `in_tags`. Templates contain `sign`."""

    sign: str
    opening: str
    middle: str
    closing: str
    in_tags: bool = False

    def arguments(self, function: Mapping[str, Any]) -> str:
        """A rule for a function's arguments. Raises SchemaError if the tool is strict."""
        schema = {**(function.get("parameters") or {}), **_OBJECT}
        if not function.get("strict") and fault(schema):
            schema = _OBJECT
        field = f"tools.{function['name']}.parameters"
        return " ".join(_tags(schema, field)) if self.in_tags else f'" "? {json_rule(schema, field)}'


FORMS = (
    CallForm(  # Seed-OSS
        "<seed:tool_call>", "<seed:tool_call>\n<function=", ">", "\n</function>\n</seed:tool_call>", in_tags=True
    ),
    CallForm("<function=", "<tool_call>\n<function=", ">", "\n</function>\n</tool_call>", in_tags=True),  # Qwen3-Coder
    CallForm("<tool_call>", '<tool_call>\n{"name": "', '", "arguments":', "}\n</tool_call>"),  # Hermes and Qwen
    CallForm('"parameters": ', '{"name": "', '", "parameters":', "}"),  # Llama
)


# GLM's arguments in tags of their own, between the tags of Hermes, are not read.
_UNREAD = "<arg_key>"


def form_of(template: str) -> CallForm | None:
    """The form that a chat template writes calls in, None if that is another one."""
    return next((one for one in FORMS if one.sign in template and _UNREAD not in template), None)


def answer_grammar(wanted: AnswerFormat | None, tools: Tools, form: CallForm | None) -> str | None:
    """The grammar of an answer behind its forced prefix; None if it is free. Raises SchemaError.

    A call that must be made has the arguments that its schema allows, and so has every call of a strict tool. Where
    there may be both, an answer with a format is that or calls.
    """
    answer = json_rule(wanted.schema or _OBJECT, wanted.field) if wanted else ""
    strict = any(one["function"].get("strict") for one in tools.definitions)
    if form is None or not tools or not (tools.required or answer or strict):
        return f"start: {answer}" if answer else None
    functions = [one["function"] for one in tools.definitions]
    rules = {f"arguments_{n}": form.arguments(one) for n, one in enumerate(functions)}
    names = [f"{_literal(one['name'] + form.middle)} arguments_{n}" for n, one in enumerate(functions)]
    rules["call"] = f"({' | '.join(names)}) {_literal(form.closing)}"
    rules["calls"] = f'call ("\\n" {_literal(form.opening)} call)*' if tools.parallel and not tools.only else "call"
    rules["bare"] = f"{_literal(_BARE)} ({' | '.join(names)}) {_literal('}')}"
    rules[f"value[suffix={_literal(_PARAMETER_END)}]"] = "/(.|\\n)*/"
    rules |= _answer_or_calls(form, answer) if answer else _text_and_calls(form, [one["name"] for one in functions])
    if tools.wanted:  # its name stands in the prefix
        number = [one["name"] for one in functions].index(tools.wanted)
        rules["start"] = f"arguments_{number} {_literal(form.closing)}"
    elif tools.required:
        rules["start"] = "calls"
    return "\n".join(f"{name}: {rule}" for name, rule in rules.items())


def _answer_or_calls(form: CallForm, answer: str) -> dict[str, str]:
    bare = "" if form.in_tags else "bare | "
    return {"start": f"{bare}{_literal(form.opening)} calls | answer", "answer": answer}


def _text_and_calls(form: CallForm, names: list[str]) -> dict[str, str]:
    """Rules for text, calls in the form of the template, and, unless that has tags, calls as JSON alone."""
    escaped = [re.escape(name).replace("/", r"\/") for name in names]
    called = rf'"name"{_SPACE}:{_SPACE}"'
    other = rf'{_LINES}{_BEGUN}({called}({"|".join(escaped)})"|"(arguments|parameters)"){_ANY}'
    rules = {"TEXT": f"/{_ANY}/ & ~/{other}/", "LINES": f"/{_LINES}/ & ~/{other}/", "WS": r"/[ \t\n]{1,24}/"}
    calls = list[str]()
    for number, name in enumerate([] if form.in_tags else escaped):
        rules[f"called_{number}[lazy]"] = f'LINES /{_BEGUN}{called}{name}"/'
        key = r'WS? "," WS? ("\"arguments\"" | "\"parameters\"") WS? ":" WS?'
        calls.append(f'called_{number} {key} arguments_{number} WS? "}}" (WS? "```")?')
    trigger, _, rest = form.opening.partition("\n")
    if rest:
        rules["begun[lazy]"] = f"TEXT {_literal(trigger)}"
        calls.append(f"begun {_literal(chr(10) + rest)} call")
    return rules | {"start": f"({' | '.join(calls)})* TEXT"}


def _tags(schema: Mapping[str, Any], field: str) -> Iterator[str]:
    """Rules for parameters in tags, of which texts are not quoted."""
    json_rule(schema, field)
    definitions = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
    for name, inner in (schema.get("properties") or {}).items():
        rule = _value({**definitions, **(inner if isinstance(inner, dict) else {})}, f"{field}.properties.{name}")
        rule = f"{_literal(f'{chr(10)}<parameter={name}>{chr(10)}')} {rule}"
        yield rule if name in (schema.get("required") or ()) else f"({rule})?"


def _value(schema: dict[str, Any], field: str) -> str:
    end = _literal(_PARAMETER_END)
    if schema.get("type") != "string":
        return f"{json_rule(schema, field)} {end}"
    if "enum" in schema:
        return f"({' | '.join(_literal(str(one)) for one in schema['enum'])}) {end}"
    return "value"


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
