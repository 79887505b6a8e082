"""A model's text → what is said and what is called: every form, malformed ones, and pieces cut anywhere."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.chat.calls import CallReader
from winnow_engine.prompting.tools import Tools


def function(name: str, **types: str) -> dict[str, Any]:
    properties = {key: {"type": kind} for key, kind in types.items()}
    return {"type": "function", "function": {"name": name, "parameters": {"properties": properties}}}


TOOLS = Tools((function("weather", city="string", days="integer"), function("now"), {"function": {"name": "bare"}}))
PARIS = '{"name": "weather", "arguments": {"city": "Paris"}}'
CALLED = [("weather", {"city": "Paris"})]


def read(*pieces: str, tools: Tools = TOOLS, cut: bool = False) -> tuple[str, list[tuple[str, Any]]]:
    """All that is said, and all that is called; the arguments of a text that is `cut` are as they were written."""
    said, called, parsed = list[str](), list[tuple[str, Any]](), str if cut else json.loads
    reader = CallReader(tools, said.append, lambda name, arguments: called.append((name, parsed(arguments))))
    for piece in pieces:
        reader.feed(piece)
    reader.end(cut=cut)
    return "".join(said), called


TAGGED = f"<tool_call>\n{PARIS}\n</tool_call>"
XML = "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n{}</function>\n</tool_call>"
FORMS = {
    "hermes": TAGGED,
    "seed": XML.format("").replace("tool_call", "seed:tool_call"),
    "hermes on a line": f"<tool_call>{PARIS}</tool_call>\n",
    "never closed": f"<tool_call>\n{PARIS}",
    "half closed": f"<tool_call>\n{PARIS}\n</tool",
    "turned round": '<tool_call>{"arguments": {"city": "Paris"}, "name": "weather"}</tool_call>',
    "arguments as a text": r'<tool_call>{"name": "weather", "arguments": "{\"city\": \"Paris\"}"}</tool_call>',
    "another tag": f"<tools>\n{PARIS}\n</tools>",
    "two pairs of braces": f"<tool_call>\n{{{PARIS}}}\n</tool_call>",
    "bare": PARIS,
    "bare, two pairs of braces": f"{{{PARIS}}}",
    "llama": '{"name": "weather", "parameters": {"city": "Paris"}}',
    "a block": '```json\n{\n  "name": "weather",\n  "arguments": {\n    "city": "Paris"\n  }\n}\n```',
    "a block without a name": f"```\n{PARIS}\n```",
    "a block with a tag": f"```xml\n{TAGGED}\n```",
    "tags": XML.format(""),
    "tags without a frame": "<function=weather><parameter=city>Paris</parameter></function>",
    "glm-4.5": "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>\n",
    "gpt-oss": 'to=functions.weather <|constrain|>json<|message|>{"city": "Paris"}',
    "gpt-oss in a channel": '<|channel|>commentary to=functions.weather <|message|>{"city": "Paris"}',
    "gemma-4": '<|tool_call>call:weather{city:<|"|>Paris<|"|>}<tool_call|>',
    "gemma-4 as JSON": '<|tool_call>call:weather{"city": "Paris"}<tool_call|>',
    "devstral": '[TOOL_CALLS]weather[ARGS]{"city": "Paris"}',
    "mistral-nemo": '[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Paris"}, "id": "abcdefghi"}]',
}


@pytest.mark.parametrize("form", FORMS)
def test_a_call_is_read_in_every_form_wherever_it_is_cut(form: str) -> None:
    text = FORMS[form]
    assert read(*text) == ("", CALLED)
    for at in range(len(text) + 1):
        assert read(text[:at], text[at:]) == ("", CALLED)


@pytest.mark.parametrize("form", FORMS)
def test_text_before_a_call_stays_and_the_space_between_goes(form: str) -> None:
    text = f"I look, if a < b:\n{{}}\n\n{FORMS[form]}"
    for at in range(len(text) + 1):
        assert read(text[:at], text[at:]) == ("I look, if a < b:\n{}", CALLED)


@pytest.mark.parametrize(
    ("form", "arguments"), [("llama", '{"city": "Pa'), ("devstral", '{"city": "Pa'), ("tags", "{")]
)
def test_a_call_that_is_cut_off_has_its_arguments_so_far(form: str, arguments: str) -> None:
    assert read(FORMS[form].partition("ris")[0], cut=True) == ("", [("weather", arguments)])


def test_several_calls_and_text_between_and_behind() -> None:
    now = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    assert read(TAGGED, "\n", now, "\n") == ("", [*CALLED, ("now", {})])
    text = f"First {TAGGED} then {now} done."
    assert read(text) == read(*text) == ("First then done.", [*CALLED, ("now", {})])
    lines = f'```json\n{PARIS}\n{{"name": "now", "arguments": {{}}}}\n```'
    assert read(*lines) == read(lines) == ("", [*CALLED, ("now", {})])


def test_values_have_their_types_in_every_form() -> None:
    for days, said in ((3, "3"), (True, "True"), (None, "None"), ([1, {"a": "}"}], '[1, {"a": "}"}]')):
        tag = f"<arg_key>days</arg_key><arg_value>{said}</arg_value>"
        xml = XML.format(f"<parameter=days>\n{said}\n</parameter>\n")
        assert read(f"<tool_call>weather{tag}</tool_call>")[1] == [("weather", {"days": days})]
        assert read(xml)[1] == [("weather", {"city": "Paris", "days": days})]
    own = '<|tool_call>call:weather{city:<|"|>a, b: "<|"|>,days:[1,None,{k:<|"|>}<|"|>}],all:true}<tool_call|>'
    assert read(*own) == ("", [("weather", {"city": 'a, b: "', "days": [1, None, {"k": "}"}], "all": True})])


def test_arguments_may_be_missing_or_hold_markup() -> None:
    assert read('<tool_call>{"name": "bare"}</tool_call>') == ("", [("bare", {})])
    city = 'a </tool_call> }} ``` \\" </function> \u00e9 b'
    call = f"<tool_call>{json.dumps({'name': 'weather', 'arguments': {'city': city}}, ensure_ascii=False)}</tool_call>"
    assert read(*call) == read(call) == ("", [("weather", {"city": city})])
    assert read('<tool_call>{"name": "weather", "arguments": {"city": "a\nb"}}</tool_call>')[1] == [
        ("weather", {"city": "a\nb"})
    ]


NO_CALLS = [
    '<tool_call>\n{"name": "weather", "arguments": {"city": }}\n</tool_call>',
    '<tool_call>\n{"name": "weather", "arguments": {"city": "Par',
    '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"',
    '<tool_call>\n{"name": "elsewhere", "arguments": {}}\n</tool_call>',
    '<tool_call>\n{"name": "weather", "arguments": [1]}\n</tool_call>',
    '<tool_call>\n{"name": "weather", "arguments": "Paris"}\n</tool_call>',
    '<tool_call>\n{"name": 5, "arguments": {}}\n</tool_call>',
    '<tool_call>\n{"arguments": ' + '{"a":' * 3000 + "1" + "}" * 3000 + "}\n</tool_call>",
    "<tool_call>\n<function=elsewhere>\n</function>\n</tool_call>",
    "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</function>\n</tool_call>",
    "<function=weather>" + "<parameter=city>Paris</parameter>\n" * 60 + "and more</function>",
    "<function=\n></function>",
    "<tool_call>now<arg_key>city</arg_key>\n</tool_call>", "<tool_call>elsewhere\n</tool_call>",
    "<tool_call>now is a function", "to=functions.", 'to=functions.elsewhere<|message|>{"city": "Paris"}',
    "<|channel|>commentary to=functions.now" + " and" * 90, 'to=functions.now<|message|>{"a": }', "to you, then [1].",
    '<|tool_call>call:now{a:<|"|>b', "<|tool_call>call:now{a:b}<tool_call|>", "<|tool_call>call:elsewhere{}",
    '[TOOL_CALLS]now[ARGS]{"a": ', "[TOOL_CALLS]now", "[TOOL_CALLS]" * 40, '[TOOL_CALLS][{"name": "elsewhere"}, {}]',
    "<tool_call>", "</tool_call>", "<tool_call>\nno call</tool_call>", "<", "```", "```json", "{", "\n {\n",
    '```json\n{"name": "click", "version": "8.1", "scripts": {}}\n```\n',
    "```python\nif a < b:\n    x = {}\n```\nDone.\n",
    'Say `{"name": "now", "arguments": {}}` inline.',
    '{"name"' + " " * 500 + ': "now", "arguments": {}}',
    "",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_CALLS, ids=[text[:60] for text in NO_CALLS])
def test_what_is_no_sound_call_goes_out_as_it_is(text: str) -> None:
    assert read(text) == (text, [])
    assert read(*text[:500], text[500:]) == (text, [])
    assert read(f"So:\n{text}", "!") == (f"So:\n{text}!", [])


def test_text_flows_on_and_only_what_may_begin_a_call_waits() -> None:
    said = list[str]()
    reader = CallReader(TOOLS, said.append, lambda *_: None)
    for piece, shown in (
        ("It is", "It is"), (" a", " a"), ("\n", ""), ("{", ""), ('"temp"', '\n{"temp"'), (" <", ""), ("tool", ""),
        ("box", " <toolbox"), ("\n```json\n", ""), ('{"b', '\n```json\n{"b'),
    ):  # fmt: skip
        before = len("".join(said))
        reader.feed(piece)
        assert "".join(said)[before:] == shown


PARTS = st.sampled_from([
    TAGGED, PARIS, "<tool_call>", "</tool_call>", '{"name": "now"', "{", "}", "```json\n", "```", "\n", " ", "a", "<",
    "<function=now>", "[TOOL_CALLS]", "now[ARGS]", "<|tool_call>call:now", "to=functions.now", "<|message|>",
    "<tool_call>now<arg_key>",
])  # fmt: skip


@given(st.lists(PARTS, max_size=8).map("".join), st.data())
def test_the_outcome_does_not_depend_on_where_text_is_cut(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert read(*pieces) == read(text) == read(*text)
