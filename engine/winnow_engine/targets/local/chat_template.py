"""Turns a conversation into token ids with the model's own chat template, so that contents cannot pose as turns.

The template is rendered with a mark in place of each content. The template's own text is tokenised with control tokens,
contents are tokenised without, so that `<|im_end|>` in a source file stays ten characters of text. The same holds for
the contents of tools and calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NoReturn

import jinja2
import numpy as np
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.meta import find_undeclared_variables
from jinja2.parser import Parser

from winnow_engine.core import Prompt, Thinking
from winnow_engine.errors import UnsupportedModelError
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, ToolCall, Tools
from winnow_engine.targets.local.bounded_templates import BoundedEnvironment
from winnow_engine.targets.local.call_forms import CallForm, form_of
from winnow_engine.targets.local.placeholders import Placeholders, first_of, shown, to_json
from winnow_engine.targets.text_stream import markers_in, opened_at_end

CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The format that most chat models descend from, for models without a template."""

# Variables with which a template turns thinking off or on: Qwen3, SmolLM3, GLM and Gemma 4; DeepSeek-V3.1 and Granite;
# Seed-OSS.
_SWITCHES = {"enable_thinking": (False, True), "thinking": (False, True), "thinking_budget": (0, -1)}
# One with which gpt-oss, which always thinks, thinks less. Others give it other values.
_EFFORT = "reasoning_effort"
# What turns it off where the template looks for that in the messages instead: Nemotron.
_SOFT_SWITCH = "/no_think"

# A conversation that shows how a template writes calls.
_CALL = ToolCall("", "look", '{"at": "here"}')
_CALLED = [Message("user", "Where?"), Message("assistant", "", (_CALL,)), Message("tool", "There.")]
_OFFERED = Tools(({"type": "function", "function": {"name": "look_up"}},))

# A template is a program of the model's authors. Compiled, it may be no Python; run, it may divide by zero.
_FAILURES = (
    *(jinja2.TemplateError, SyntaxError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(MemoryError, RecursionError),
)


@dataclass(frozen=True, slots=True)
class LocalPrompt:
    """A prompt for a model in this process. Tools and first system messages are its first `head` tokens.

    The prompt of the conversation's next turn begins with the same `lasting` tokens.
    """

    tokens: Prompt
    head: int = 0
    lasting: int = 0

    def __len__(self) -> int:
        return len(self.tokens)


class _Generation(Extension):
    """The tag with which templates mark what the model wrote, for training: its body, and no more."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Read up to the end of the tag."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class ChatTemplate:
    """A model's chat template, sandboxed and bounded, with the helpers that Hugging Face templates rely on."""

    def __init__(self, source: str, special_texts: Mapping[str, str], model: str = "the target") -> None:
        """Compile the template.

        `special_texts` are the texts of `bos_token` and `eos_token`; `model` is the name used in errors. Raises
        UnsupportedModelError if the source has a syntax error.
        """
        environment = BoundedEnvironment(
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            extensions=["jinja2.ext.loopcontrols", _Generation],
        )
        environment.filters["tojson"] = to_json
        environment.globals |= {"raise_exception": _refuse, "strftime_now": _now, **special_texts}
        try:
            tree = environment.parse(source)
            variables = find_undeclared_variables(tree)
            self._template = environment.bounded(tree)
        except _FAILURES as error:
            raise UnsupportedModelError(f"the target's chat template is not valid: {error}") from error
        self._environment = environment
        self.markers = markers_in(source)
        self._switches = [name for name in _SWITCHES if name in variables] if self.markers else []
        harmony = any(one.direct for one in self.markers)
        self._efforts = [_EFFORT] if harmony and _EFFORT in variables else []
        self._soft_switch = _SOFT_SWITCH if _SOFT_SWITCH in source and self.markers and not self._switches else ""
        self._model = model

    @cached_property
    def call_form(self) -> CallForm | None:
        """The form that the template writes calls in; None if that is unknown, or it has no tools."""
        rendered = self._tried(_CALLED, _OFFERED)
        return form_of(rendered, "look", "at", "There.") if "look_up" in rendered else None

    @cached_property
    def _takes_system(self) -> bool:
        """False if the template refuses or drops system messages, as those of Gemma 2 and Phi-3 do."""
        return "@1@" in self._tried([Message("system", "@1@"), Message("user", "@2@")])

    def _tried(self, messages: Sequence[Message], tools: Tools = NO_TOOLS) -> str:
        """As `render`; "" if the template refuses the messages, which is said when somebody asks."""
        try:
            return self.render(messages, tools)
        except UnsupportedModelError:
            return ""

    def forced_prefix(self, tools: Tools) -> str:
        """The forced prefix of an answer that must be a call; "" if it need not be one."""
        form = self.call_form
        if not tools.required or form is None:
            return ""
        return form.opening + (tools.wanted + form.middle if tools.wanted else "")

    def keeps_from_thinking(self, thinking: Thinking) -> bool:
        """Whether the model is not to think: it was told so, or it can be told so and nobody wants it to."""
        return thinking == "off" or (thinking == "auto" and bool(self._switches or self._soft_switch))

    def turn_ends(self, vocabulary: Vocabulary) -> frozenset[int]:
        """The control token that the template puts behind an answer; none if thoughts end with it, as in gpt-oss."""
        turns = [Message("user", "@1@"), Message("assistant", "@2@"), Message("user", "@3@")]
        behind = "" if any(one.direct for one in self.markers) else self._tried(turns).partition("@2@")[2]
        first = vocabulary.tokenize(behind.partition("@3@")[0].lstrip(), special=True)[:1].tolist()
        return frozenset(filter(vocabulary.is_control, first))

    def tokenize(
        self, messages: Sequence[Message], vocabulary: Vocabulary, tools: Tools = NO_TOOLS, thinking: Thinking = "auto"
    ) -> LocalPrompt:
        """The token ids of the rendered conversation, forced prefix included, with the model's BOS if it wants one.

        A thought that the template begins is ended at once where the model is not to think, or must call a tool.

        Raises UnsupportedModelError if the template refuses or drops a message, or knows no tools and there are some.
        """
        if self.call_form and self.call_form.single:
            messages = _one_by_one(messages)
        if not self._takes_system:
            messages = _without_system(messages)
        placeholders, contents = Placeholders(), list[str]()

        def put(text: str) -> str:
            contents.append(placeholders.put(text))
            return contents[-1]

        forced = self.forced_prefix(tools)
        rendered = self.render(messages, tools, put, placeholders.guard, thinking)
        begun = opened_at_end(rendered, self.markers)
        if begun and (forced or self.keeps_from_thinking(thinking)):
            rendered = f"{rendered.rstrip()}\n{begun.ending}"
        _check_complete(messages, contents, shown(rendered))
        marked = zip(messages, contents, strict=True)
        end = first_of({mark for message, mark in marked if message.role != "system"}, rendered)
        *turns, ending = placeholders.pieces(rendered[end:])
        pieces = placeholders.pieces(rendered[:end]), turns, (ending, (forced, True))
        read = [[vocabulary.tokenize(text, special=own) for text, own in of] for of in pieces]
        head, rest, last = (np.concatenate([np.empty(0, np.int32), *of]) for of in read)
        tokens = np.concatenate([head, rest, last])
        if vocabulary.bos is not None and tokens[:1].tolist() != [vocabulary.bos]:
            tokens = np.concatenate([np.array([vocabulary.bos], np.int32), tokens])
        lasting = len(tokens) - len(last)
        return LocalPrompt(tokens, lasting - len(rest), lasting)

    def render(
        self,
        messages: Sequence[Message],
        tools: Tools = NO_TOOLS,
        content: Callable[[str], str] = str,
        inner: Callable[[Any], Any] = lambda value: value,
        thinking: Thinking = "auto",
    ) -> str:
        """The conversation as one string that ends where the answer starts.

        The template is given what `content` makes of the messages' texts, and `inner` of tools and calls. Raises
        UnsupportedModelError if it refuses the messages or takes too long, or knows no tools and there are some.
        """
        self._check_tools(messages, tools)
        calls = [call for message in messages for call in message.calls]
        # Mistral's templates take names of nine characters only.
        known = {call.id: (f"{number:09}", call.name) for number, call in enumerate(calls)}
        try:
            turns = [_turn(message, content(message.content), inner, known) for message in messages]
            switches = self._switch(turns, thinking)
            definitions = [inner(_whole(one)) for one in tools.definitions] or None
            given = {"messages": turns, "tools": definitions, "add_generation_prompt": True, **switches}
            return self._environment.rendered(self._template, **given)
        except _FAILURES as error:
            raise UnsupportedModelError(
                f"the target's chat template refuses the messages ({error}): choose another target"
            ) from error

    def _switch(self, turns: Sequence[dict[str, Any]], thinking: Thinking) -> dict[str, Any]:
        """The variables that turn thinking on or off. A soft switch is added to the user's last message."""
        if self._soft_switch and self.keeps_from_thinking(thinking):
            asked = next((turn for turn in reversed(turns) if turn["role"] == "user"), {"content": ""})
            asked["content"] += f" {self._soft_switch}"
        effort = dict.fromkeys(self._efforts, "medium" if thinking == "on" else "low")
        return effort | {name: _SWITCHES[name][thinking == "on"] for name in self._switches}

    def _check_tools(self, messages: Sequence[Message], tools: Tools) -> None:
        if messages is not _CALLED and (tools or uses_tools(messages)) and self.call_form is None:
            raise UnsupportedModelError(
                f"the chat template of {self._model} has no tools, or writes calls in a form that Winnow cannot read: "
                "leave out `tools` and messages with calls, or choose a target that has them, such as Qwen2.5 or Qwen3"
            )


def uses_tools(messages: Sequence[Message]) -> bool:
    """Whether a conversation has calls or their results."""
    return any(message.calls or message.role == "tool" for message in messages)


def _one_by_one(messages: Sequence[Message]) -> list[Message]:
    """The messages with one call each, before its result."""
    results, turns = {message.call_id: message for message in messages if message.role == "tool"}, list[Message]()
    for message in messages:
        for number, call in enumerate(message.calls[1:] and message.calls):
            turns.append(replace(message, content="" if number else message.content, calls=(call,)))
            turns += [results.pop(call.id)] if call.id in results else []
        if not message.calls[1:] and (message.role != "tool" or message.call_id in results):
            turns.append(message)
    return turns


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """The messages with the text of system messages before that of the user's next one."""
    before, turns = "", list[Message]()
    for message in messages:
        if message.role == "system":
            before += f"{message.content}\n\n"
            continue
        asked = message.role == "user"
        turns.append(replace(message, content=before + message.content) if asked else message)
        before = "" if asked else before
    return [*turns, Message("user", before.rstrip())] if before else turns


def _whole(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A tool with all that templates take for granted, in the order in which models have seen it."""
    function = {name: value for name, value in definition["function"].items() if value is not None}
    parameters = {"type": "object", "properties": {}} | function.get("parameters", {})
    return {**definition, "function": {"name": "", "description": ""} | function | {"parameters": parameters}}


def _turn(
    message: Message, content: str, inner: Callable[[Any], Any], known: Mapping[str, tuple[str, str]]
) -> dict[str, Any]:
    """A message in the form that Hugging Face templates expect: a call's arguments are an object, not text."""
    turn: dict[str, Any] = {"role": message.role, "content": content}
    if message.calls:
        calls = [inner(_call(call, known[call.id][0])) for call in message.calls]
        turn |= {"content": content if message.content else "", "tool_calls": calls}
    if message.role == "tool":
        number, name = known.get(message.call_id, ("", ""))
        turn |= inner({"tool_call_id": number, "name": name})
    return turn


def _call(call: ToolCall, number: str) -> dict[str, Any]:
    return {"id": number, "type": "function", "function": {"name": call.name, "arguments": json.loads(call.arguments)}}


def _check_complete(messages: Sequence[Message], contents: Sequence[str], used: set[str]) -> None:
    """Raise UnsupportedModelError if a message is missing. What was said with a call may be."""
    pairs = zip(messages, contents, strict=True)
    dropped = [m.role for m, content in pairs if content not in used and not m.calls]
    if dropped:
        raise UnsupportedModelError(
            f"the target's chat template drops {' and '.join(dropped)} messages: choose another target"
        )


def _refuse(reason: str) -> NoReturn:
    raise jinja2.TemplateError(reason)


def _now(pattern: str) -> str:
    return datetime.now().strftime(pattern)
