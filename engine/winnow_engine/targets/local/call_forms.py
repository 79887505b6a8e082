"""The forms in which models write calls (`call_forms.toml`), and the grammar of an answer that has to have one."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.prompting.tools import AnswerFormat, Tools
from winnow_engine.targets.local.grammar import fault, json_rule

_OBJECT: dict[str, Any] = {"type": "object"}
# Some models write a call as JSON alone, whatever their template says. Text is what nobody would read as that.
_BARE = '{"name": "'
_ANY, _SPACE = r"(.|\n)*", r"[ \t\n]*"
_LINES, _BEGUN = rf"({_ANY}\n)?", rf"{_SPACE}(```[a-z]*{_SPACE})?\{{{_SPACE}"
_GAP = re.compile(r'\s*([{:,"])\s*')


@dataclass(frozen=True, slots=True)
class CallForm:
    """A form of the table, which explains the fields."""

    opening: str
    middle: str
    closing: str
    tags: Sequence[str] = ()
    quote: str = ""
    head: str = ""
    leads: Sequence[str] = ()
    single: bool = False

    @property
    def end(self) -> str:
        """The text that ends the arguments. It may also occur inside them."""
        return self.closing.split()[0] if self.tags else "}"

    def arguments(self, function: Mapping[str, Any]) -> str:
        """A rule for a function's arguments. Raises SchemaError if the tool is strict."""
        schema = {**(function.get("parameters") or {}), **_OBJECT}
        if not function.get("strict") and fault(schema):
            schema = _OBJECT
        field = f"tools.{function['name']}.parameters"
        return " ".join(_tagged(schema, field, self.tags)) if self.tags else f'" "? {json_rule(schema, field)}'

    def control_tokens(self, vocabulary: Vocabulary) -> frozenset[int]:
        """The control tokens that mark a call."""
        tokens = vocabulary.tokenize(self.opening + self.middle + self.closing + self.quote, special=True)
        return frozenset(filter(vocabulary.is_control, tokens.tolist()))


_TABLE = tomllib.loads(Path(__file__).with_name("call_forms.toml").read_text("utf-8"))
FORMS = tuple(CallForm(**entry) for entry in _TABLE["form"])


def form_of(rendered: str, name: str, parameter: str, result: str) -> CallForm | None:
    """The form of a call, with one parameter, in a conversation that a template has rendered; None if it is unknown.

    A first version of Gemma's template had another place for the result of one, which therefore has to have quotes.
    """
    text = _GAP.sub(r"\1", rendered)
    for form in FORMS:
        begun = form.opening + name + form.middle + (parameter.join(form.tags[:2]) if form.tags else "")
        if _GAP.sub(r"\1", begun) in text and f"{form.quote}{result}" in text:
            return form
    return None


def answer_grammar(wanted: AnswerFormat | None, tools: Tools, form: CallForm | None) -> str | None:
    """The grammar of an answer behind its forced prefix; None if it is free. Raises SchemaError.

    A call that must be made has the arguments that its schema allows, and so has every call of a strict tool. Where
    there may be both, an answer with a format is that or calls.
    """
    answer = json_rule(wanted.schema or _OBJECT, wanted.field) if wanted else ""
    strict = any(one["function"].get("strict") for one in tools.definitions)
    if form is None or not tools or not (tools.required or answer or strict):
        return f"start: {answer}" if answer else None
    rules = {f"arguments_{n}": form.arguments(one) for n, one in enumerate(tools.functions.values())}
    names = [f"{_literal(name + form.middle)} arguments_{n}" for n, name in enumerate(tools.functions)]
    rules["call"] = f"({' | '.join(names)}) {_literal(form.closing)}"
    rules["calls"] = f'call ("\\n"? {_literal(form.opening)} call)*' if tools.parallel and not tools.only else "call"
    rules["bare"] = f"{_literal(_BARE)} ({' | '.join(names)}) {_literal('}')}"
    if form.tags:
        rules[f"value[suffix={_literal(form.tags[2])}]"] = "/(.|\\n)*/"
    if answer:
        bare = "bare | " if form.opening.endswith(_BARE) else ""
        rules |= {"start": f"{bare}{_literal(form.opening)} calls | answer", "answer": answer}
    else:
        rules |= _text_and_calls(form, tools.functions)
    if tools.wanted:  # its name stands in the prefix
        rules["start"] = f"arguments_{list(tools.functions).index(tools.wanted)} {_literal(form.closing)}"
    elif tools.required:
        rules["start"] = "calls"
    return "\n".join(f"{name}: {rule}" for name, rule in rules.items())


def _text_and_calls(form: CallForm, names: Iterable[str]) -> dict[str, str]:
    """Rules for text, calls in the form of the template, and, unless that has tags, calls as JSON alone."""
    escaped = [re.escape(name).replace("/", r"\/") for name in names]
    called = rf'"name"{_SPACE}:{_SPACE}"'
    other = rf'{_LINES}{_BEGUN}({called}({"|".join(escaped)})"|"(arguments|parameters)"){_ANY}'
    rules = {"TEXT": f"/{_ANY}/ & ~/{other}/", "LINES": f"/{_LINES}/ & ~/{other}/", "WS": r"/[ \t\n]{1,24}/"}
    calls = list[str]()
    for number, name in enumerate([] if form.tags else escaped):
        rules[f"called_{number}[lazy]"] = f'LINES /{_BEGUN}{called}{name}"/'
        key = r'WS? "," WS? ("\"arguments\"" | "\"parameters\"") WS? ":" WS?'
        calls.append(f'called_{number} {key} arguments_{number} WS? "}}" (WS? "```")?')
    if form.opening != _BARE:
        trigger, line, rest = form.opening.partition("\n")
        rules["begun[lazy]"] = f"TEXT {_literal(trigger)}"
        calls.append(f"begun {_literal(line + rest)} call")
    return rules | {"start": f"({' | '.join(calls)})* TEXT"}


def _tagged(schema: Mapping[str, Any], field: str, tags: Sequence[str]) -> Iterator[str]:
    """Rules for parameters in tags, of which texts are not quoted."""
    json_rule(schema, field)
    before, between, behind = tags
    definitions = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
    for name, inner in (schema.get("properties") or {}).items():
        value = {**definitions, **(inner if isinstance(inner, dict) else {})}
        rule = f"{_literal(before + name + between)} {_value(value, f'{field}.properties.{name}', behind)}"
        yield rule if name in (schema.get("required") or ()) else f"({rule})?"


def _value(schema: dict[str, Any], field: str, behind: str) -> str:
    if schema.get("type") == "string" and "enum" not in schema:
        return "value"
    texts = schema.get("type") == "string"
    rule = f"({' | '.join(_literal(str(one)) for one in schema['enum'])})" if texts else json_rule(schema, field)
    return f"{rule} {_literal(behind)}"


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
