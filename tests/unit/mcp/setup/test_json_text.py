"""JSON with comments is edited as text: what is added can be taken out again, and nothing else changes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_lsp.mcp.setup import json_text

ENTRY = {"type": "stdio", "command": "/a b/winnow", "args": ["mcp", "--target=é"]}
KEYS = ("mcpServers",)

PAIRS = [
    (None, '{\n  "mcpServers": {\n    "winnow": {\n      "command": "w"\n    }\n  }\n}\n'),
    ("", '{\n  "mcpServers": {\n    "winnow": {\n      "command": "w"\n    }\n  }\n}'),
    ("{}\n", '{"mcpServers": {\n  "winnow": {\n    "command": "w"\n  }\n}}\n'),
    ('{"mcpServers": {}}', '{"mcpServers": {"winnow": {"command": "w"}}}'),
    (
        '{\n\t// theme\n\t"theme": "dark", // mine\n\t/* end */\n}\n',
        '{\n\t// theme\n\t"theme": "dark", // mine\n\t/* end */\n\t"mcpServers": {\n\t\t"winnow": {\n'
        '\t\t\t"command": "w"\n\t\t}\n\t},\n}\n',
    ),
    (
        '{\r\n    "mcpServers": {\r\n        "x": {"url": "http://a//b"} // last\r\n    }\r\n}',
        '{\r\n    "mcpServers": {\r\n        "x": {"url": "http://a//b"}, // last\r\n        "winnow": {\r\n'
        '            "command": "w"\r\n        }\r\n    }\r\n}',
    ),
    ('{"a": 1 /* , */ }', '{"a": 1, /* , */ "mcpServers": {\n  "winnow": {\n    "command": "w"\n  }\n} }'),
    ('\ufeff{"a": [1, 2,],}', '\ufeff{"a": [1, 2,], "mcpServers": {\n  "winnow": {\n    "command": "w"\n  }\n},}'),
]


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_a_member_is_added_in_the_texts_own_manner(before: str | None, after: str) -> None:
    assert json_text.add(before, KEYS, "winnow", {"command": "w"}) == after
    assert json_text.remove(after, KEYS, "winnow") == before


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
servers = st.dictionaries(st.text(max_size=3), values, max_size=3)
files = st.dictionaries(st.text(max_size=3), values, max_size=3) | st.builds(
    lambda before, inner, after: {**before, "mcpServers": inner, **after},
    st.dictionaries(st.text(max_size=3), values, max_size=2),
    servers,
    st.dictionaries(st.text(max_size=3), values, max_size=2),
)
indents = st.sampled_from([None, 0, 1, 2, 4, "\t"])
blanks = st.text(alphabet=" \t\r\n", max_size=3)
fillers = st.sampled_from(["", " ", "\n", "\r\n", " // a, b {\n", "/* } , */", "\t", "/* // */ \n  "])


@st.composite
def texts(draw: Any) -> str:
    """A file's text, as programs write it or as a person does: blanks and comments anywhere, commas at the end."""
    value, indent = draw(files), draw(indents)
    if draw(st.booleans()):
        written = json.dumps(value, indent=indent, ensure_ascii=draw(st.booleans()))
        return str(draw(blanks) + written + draw(blanks))

    def write(one: Any) -> str:
        if isinstance(one, dict):
            members = [f"{json.dumps(key)}{draw(fillers)}:{draw(fillers)}{write(inner)}" for key, inner in one.items()]
            return "{" + listed(members) + "}"
        return "[" + listed([write(inner) for inner in one]) + "]" if isinstance(one, list) else json.dumps(one)

    def listed(parts: list[str]) -> str:
        text = ",".join(f"{draw(fillers)}{part}{draw(fillers)}" for part in parts)
        return text + ("," if parts and draw(st.booleans()) else "") + str(draw(fillers))

    return str(draw(fillers)) + write(value) + str(draw(fillers))


@given(texts() | blanks)
def test_adding_and_removing_is_the_identity(text: str) -> None:
    added = json_text.add(text, KEYS, "winnow", ENTRY)
    was, now = json_text.read(text) or {}, json_text.read(added)
    assert now["mcpServers"].pop("winnow") == ENTRY
    assert now == {**was, "mcpServers": was.get("mcpServers", {})}
    assert json_text.remove(added, KEYS, "winnow") == text


@given(texts(), st.data())
def test_a_member_that_others_wrote_goes_alone(text: str, data: Any) -> None:
    value = json_text.read(text)
    if not value:
        return
    name = data.draw(st.sampled_from(list(value)))
    removed = json_text.remove(text, (), name)
    del value[name]
    assert (json_text.read(removed) if removed is not None else None) in (value, value or None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "the file is not an object"),
        ('{"mcpServers": []}', '"mcpServers" is not an object'),
        ('{"mcpServers": {}, "mcpServers": {}}', "twice"),
        ('{"a": 1 "b": 2}', "delimiter"),
        ('{"a": "', "Unterminated"),
        ("{} {}", "Extra data"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": 1 /* }', "delimiter"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        json_text.add(text, KEYS, "winnow", ENTRY)
