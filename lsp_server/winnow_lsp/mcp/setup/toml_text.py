"""Adds a table at the end of a TOML file and takes it out again; what else is there stays byte for byte."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomlkit


def read(text: str) -> Any:
    """The value of a TOML file. Raises ValueError."""
    return tomllib.loads(text.removeprefix("\ufeff"))


def add(text: str | None, keys: Sequence[str], name: str, entry: Mapping[str, Any]) -> str:
    """The text with the table `entry` under `keys` and `name`; None is a file that does not exist.

    Raises ValueError for a text that is not TOML, and where the keys are written in a way that cannot be added to,
    such as an inline table. `name` must not be there.
    """
    block = _block(keys, name, entry)
    if text is None:
        return block
    read(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    added = text + newline + block.replace("\n", newline)
    read(added)
    return added


def remove(text: str, keys: Sequence[str], name: str) -> str | None:
    """The text without the table `name`, which must be there; None where there was no file.

    A table as `add` writes it goes with its line break before it, any other as tomlkit removes it.
    """
    expected = read(text)
    parent = expected
    for key in keys:
        parent = parent[key]
    entry = parent.pop(name)
    for before in _before(text, _block(keys, name, entry)):
        try:
            if add(before, keys, name, entry) == text:
                return before
        except ValueError:
            continue
    return _without(text, keys, name, expected)


def _block(keys: Sequence[str], name: str, entry: Mapping[str, Any]) -> str:
    table: Any = {name: dict(entry)}
    for key in reversed(keys):
        table = {key: table}
    return tomlkit.dumps(table)


def _before(text: str, block: str) -> Iterator[str | None]:
    if text == block:
        yield None
    for newline in ("\r\n", "\n"):
        yield text.removesuffix(newline + block.replace("\n", newline))


def _without(text: str, keys: Sequence[str], name: str, expected: Any) -> str:
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    document: Any = tomlkit.parse(text.removeprefix(bom))
    parent = document
    for key in keys:
        parent = parent[key]
    del parent[name]
    changed = bom + tomlkit.dumps(document)
    if _pruned(read(changed)) != _pruned(expected):
        raise ValueError(f'"{name}" cannot be taken out of it')
    return changed


def _pruned(data: Any) -> str:
    """The value without empty tables at the top, which come and go with what is in them, to be compared."""
    return repr({key: value for key, value in data.items() if value != {}})
