"""Edits JSON with comments as text: what is not edited stays byte for byte, comments and trailing commas included.

    {
      "theme": "dark", // mine                        what was there
      "mcpServers": {                                 `add(text, ("mcpServers",), "winnow", entry)`
        "winnow": {...}
      }
    }

No two texts become the same by `add`, so `remove` can find the text that was there before (see `remove`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow_engine.untrusted import read_json

_STRINGS_AND_COMMENTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\r\n]*|/\*.*?\*/|\ufeff', re.DOTALL)
_STRINGS_AND_COMMAS = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])')
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class _Member:
    """A member of an object: where its key starts, its value starts, its value ends."""

    key: str
    start: int
    value: int
    end: int


def read(text: str) -> Any:
    """The value of JSON with comments and trailing commas; None for a text without a value. Raises ValueError."""
    strict = _strict(text)
    return read_json(strict) if strict.strip() else None


def add(text: str | None, keys: Sequence[str], name: str, entry: Mapping[str, Any]) -> str:
    """The text with `entry` under `keys` and `name`, objects that are missing on the way there made.

    None is a file that does not exist. Raises ValueError for a text that is not JSON, for anything but an object on
    the way, and for keys given twice. `name` must not be there.
    """
    if text is None or read(text) is None:
        made = json.dumps(_nested([*keys, name], entry), indent=2, ensure_ascii=False)
        return made + "\n" if text is None else text + made
    place, missing = _deepest(text, keys)
    added = _with_member(text, place, [*missing, name], entry)
    if _at(read(added), [*keys, name]) != entry:
        raise ValueError("its line breaks are not understood")
    return added


def remove(text: str, keys: Sequence[str], name: str) -> str | None:
    """The text without the member `name`, which must be there; None where there was no file.

    What `add` made around it goes as well: of the texts that may have been there before, it is the one that `add`
    turns into this one. Where none does, since somebody edited the text, only the member goes.
    """
    data = read(text)
    entry = _at(data, [*keys, name])
    for before in _before(text, data, [*keys, name]):
        try:
            if add(before, keys, name, entry) == text:
                return before
        except ValueError:
            continue
    return _without(text, keys, name)


def _before(text: str, data: Any, path: Sequence[str]) -> Iterator[str | None]:
    """Texts that may have been there before `add`, the likeliest first."""
    if data == _nested(path, _at(data, path)):
        yield None
        yield text[: _skip(_strict(text), 0)]
    for depth in range(len(path)):
        if _at(data, path[: depth + 1]) == _nested(path[depth + 1 :], _at(data, path)):
            yield _without(text, path[:depth], path[depth])


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _at(data: Any, path: Sequence[str]) -> Any:
    for key in path:
        data = data[key]
    return data


def _strict(text: str) -> str:
    """The text as strict JSON of the same length: comments and trailing commas are blanks."""
    plain = _STRINGS_AND_COMMENTS.sub(_blank, text)
    return _STRINGS_AND_COMMAS.sub(_blank, plain)


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\r\n]", " ", match[0])


def _skip(strict: str, at: int) -> int:
    match = _SPACE.match(strict, at)
    assert match is not None
    return match.end()


def _members(strict: str, at: int) -> Iterator[_Member]:
    """The members of the object that starts at `at`."""
    at = _skip(strict, at + 1)
    while strict[at] != "}":
        start = at
        key, at = _DECODER.raw_decode(strict, at)
        value = _skip(strict, _skip(strict, at) + 1)
        _, end = _DECODER.raw_decode(strict, value)
        yield _Member(key, start, value, end)
        at = _skip(strict, end)
        at = _skip(strict, at + 1) if strict[at] == "," else at


def _deepest(text: str, keys: Sequence[str]) -> tuple[int, list[str]]:
    """Where the deepest object on the way starts that is there, and the keys that are missing in it."""
    strict = _strict(text)
    at = _skip(strict, 0)
    _check_object(strict, at, "the file")
    for depth, key in enumerate(keys):
        found = [member for member in _members(strict, at) if member.key == key]
        if not found:
            return at, list(keys[depth:])
        if len(found) > 1:
            raise ValueError(f'it has "{key}" twice')
        at = found[0].value
        _check_object(strict, at, f'"{key}"')
    return at, []


def _check_object(strict: str, at: int, what: str) -> None:
    if strict[at] != "{":
        raise ValueError(f"{what} is not an object")


def _with_member(text: str, place: int, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """The text with a member more in the object at `place`, after the ones that are there."""
    strict = _strict(text)
    value = _nested(path[1:], entry)
    members = list(_members(strict, place))
    if not members:
        # On one line where the object was there, empty, and on several where it is made: `remove` tells them apart.
        written = _written(value, None if len(path) == 1 else "  ", "", text)
        return f"{text[: place + 1]}{_key(path[0])}: {written}{text[place + 1 :]}"
    last, close = members[-1], _skip(strict, members[-1].end)
    comma = _comma_after(text, last.end)
    # A comment behind the last member stays there: the new member comes after it.
    behind = len(text[:close].rstrip())
    indent = _indent(text, place, last, close)
    between = " " if indent is None else _newline(text) + indent
    written = _written(value, _unit(text), indent or "", text)
    # A comma at the end stays the house's habit.
    head = text[:behind] if comma is not None else f"{text[: last.end]},{text[last.end : behind]}"
    return f"{head}{between}{_key(path[0])}: {written}{',' if comma is not None else ''}{text[behind:]}"


def _key(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)


def _written(value: Any, unit: str | None, indent: str, text: str) -> str:
    """A value as JSON, its lines after the first indented; on one line without a `unit`."""
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _comma_after(text: str, at: int) -> int | None:
    """Where the comma is that follows a value that ends at `at`, comments skipped; None without one."""
    plain = _STRINGS_AND_COMMENTS.sub(_blank, text)
    at = _skip(plain, at)
    return at if plain[at] == "," else None


def _indent(text: str, place: int, last: _Member, close: int) -> str | None:
    """What the members of an object are indented by; None for an object on one line."""
    if "\n" not in text[place:close]:
        return None
    own_line = _line_indent(text, last.start)
    if own_line is not None:
        return own_line
    around = re.match(r"[ \t]*", text[text.rfind("\n", 0, place) + 1 :])
    assert around is not None
    return around[0] + _unit(text)


def _line_indent(text: str, at: int) -> str | None:
    """What stands between the start of the line and `at`; None if that is more than blanks."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return None if before.strip(" \t") else before


def _unit(text: str) -> str:
    """One step of indentation, as the file's first member has it."""
    strict = _strict(text)
    first = next(_members(strict, _skip(strict, 0)), None)
    return (_line_indent(text, first.start) if first is not None else None) or "  "


def _without(text: str, keys: Sequence[str], name: str) -> str:
    """The text without a member and the comma that belongs to it."""
    strict = _strict(text)
    place, missing = _deepest(text, keys)
    assert not missing
    members = list(_members(strict, place))
    found = [number for number, member in enumerate(members) if member.key == name]
    if len(found) != 1:
        raise ValueError(f'it has "{name}" {len(found)} times')
    [number] = found
    member, head = members[number], text[: members[number].start]
    comma = _comma_after(text, member.end)
    tail = text[member.end if comma is None else comma + 1 :]
    if comma is None and number:
        before = _comma_after(text, members[number - 1].end)
        assert before is not None
        head = head[:before] + head[before + 1 :]
    tight = head.rstrip() + tail
    # Without the line break, a comment before the member would swallow what follows it.
    return tight if _same(tight, text, [*keys, name]) else head + tail


def _same(text: str, before: str, path: Sequence[str]) -> bool:
    """Whether the text says what another one says without a member."""
    expected = read(before)
    del _at(expected, path[:-1])[path[-1]]
    try:
        return repr(read(text)) == repr(expected)
    except ValueError:
        return False
