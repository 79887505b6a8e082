"""One entry in an agent's configuration file, put in and taken out as text: every other byte stays as it is.

A change is made only where a parser then reads what was there before and the entry, and nothing else.
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

from winnow_engine.errors import AgentSetupError, NotJsonError
from winnow_engine.platform import read_regular
from winnow_engine.storage.folders import temporary
from winnow_engine.untrusted import read_json

NAME = "winnow"
Entry = dict[str, Any]
_LARGEST = 4 << 20


class Piece(NamedTuple):
    """Text to put behind what `before`, a regular expression, finds: the entry, or the `whole` table with it."""

    before: str
    text: str
    whole: bool = False


class UnknownFormError(ValueError):
    """A file that is not what the agent documents, or has comments where its format has none."""


@dataclass(frozen=True)
class Slot:
    """The place of Winnow's entry in a file: in the table `key`, or in the list there if it is `listed`."""

    key: str
    listed: bool = False
    head: str = ""  # what a new file has to begin with

    def found(self, data: Entry) -> Any:
        """The entry, or None. Raises UnknownFormError where `key` is something else."""
        match data.get(self.key, [] if self.listed else {}):
            case list() as entries if self.listed:
                return next((one for one in entries if _is_ours(one)), None)
            case dict() as table if not self.listed:
                return table.get(NAME)
        raise UnknownFormError

    def rest(self, data: Entry) -> Any:
        """The entries beside it."""
        table = data.get(self.key)
        if self.listed:
            return [one for one in table or [] if not _is_ours(one)]
        return {name: one for name, one in (table or {}).items() if name != NAME}


def text_of(file: Path) -> str:
    """The text of a configuration file, "" if there is none. Raises UnknownFormError for anything else."""
    try:
        return read_regular(file.resolve(), _LARGEST).decode()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise UnknownFormError from error


def entry_in(file: Path, slot: Slot) -> Any:
    """The entry that a file has; None if it has none. Where it cannot be read, what no entry is equal to."""
    try:
        return slot.found(_parsed(file, text_of(file))) if file.suffix else None
    except UnknownFormError:
        return NotImplemented


def alone(suffix: str, slot: Slot, entry: Entry) -> str:
    """The text of a file that has this entry only."""
    *_, piece = _FORMATS[suffix].pieces(slot, entry)
    return f"{{{piece.text}\n}}\n" if suffix == ".json" else slot.head + piece.text.lstrip("\n")


def with_entry(file: Path, slot: Slot, entry: Entry) -> str:
    """A file's text with the entry in place of an earlier one. Raises UnknownFormError if it cannot be put in."""
    text = without_entry(file, slot)
    if not text:
        return alone(_suffix(file), slot, entry)
    data = _parsed(file, text)
    for piece in _FORMATS[_suffix(file)].pieces(slot, entry):
        for match in re.finditer(piece.before, text) if not (piece.whole and slot.key in data) else ():
            new = text[: match.end()] + piece.text + text[match.end() :]
            if _is(file, new, lambda now: slot.found(now) == entry and _without(now, slot) == _without(data, slot)):
                return new
    raise UnknownFormError


def without_entry(file: Path, slot: Slot) -> str:
    """A file's text without the entry, "" where nothing is left. Raises UnknownFormError if it cannot be taken out."""
    text = text_of(file)
    data = _parsed(file, text)
    if (entry := slot.found(data)) is None or text == alone(_suffix(file), slot, entry):
        return "" if entry else text
    for piece in _FORMATS[_suffix(file)].pieces(slot, entry):
        bare = piece.text.removesuffix(",")
        for one in (piece.text, f",{bare}", bare, bare.lstrip()):
            new = text.replace(one, "", 1)
            if _is(file, new, lambda now: slot.found(now) is None and _without(now, slot) == _without(data, slot)):
                return new
    raise UnknownFormError


def real_file(file: Path, project: Path | None) -> Path:
    """The file that links lead to. Raises AgentSetupError where that is out of the project."""
    real = file.resolve()
    if project is not None and not real.is_relative_to(project.resolve()):
        raise AgentSetupError(f"{file} leads out of the project: {real}")
    return real


def write(file: Path, text: str, project: Path | None) -> None:
    """Write a file, or delete it if there is no text. Raises AgentSetupError where a link leads out of the project."""
    real = real_file(file, project)
    if not text:
        real.unlink(missing_ok=True)
        return
    real.parent.mkdir(parents=True, exist_ok=True)
    if not real.exists():
        real.touch()
    with temporary(real.parent) as beside:
        beside.write_bytes(text.encode())
        shutil.copymode(real, beside)
        beside.replace(real)


def remove_empty(folder: Path, above: Path) -> None:
    """Remove a folder that has become empty, and those between it and `above`."""
    while above in folder.parents and not folder.is_symlink() and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _is_ours(one: Any) -> bool:
    return isinstance(one, dict) and one.get("name") == NAME


def _suffix(file: Path) -> str:
    return ".json" if file.suffix == ".jsonc" else file.suffix


def _without(data: Entry, slot: Slot) -> tuple[Any, Entry]:
    return slot.rest(data), {key: value for key, value in data.items() if key != slot.key}


def _parsed(file: Path, text: str) -> Entry:
    try:
        data = (_FORMATS[_suffix(file)].parse(text) if text.strip() else None) or {}
    except (ValueError, RecursionError) as error:
        raise UnknownFormError from error
    if not isinstance(data, dict):
        raise UnknownFormError
    return data


def _is(file: Path, text: str, right: Callable[[Entry], bool]) -> bool:
    try:
        return right(_parsed(file, text))
    except UnknownFormError:
        return False


@dataclass(frozen=True)
class _Format:
    parse: Callable[[str], Any]
    pieces: Callable[[Slot, Entry], Iterator[Piece]]


def _json(text: str) -> Any:
    try:
        return read_json(text.encode())
    except NotJsonError as error:
        raise UnknownFormError from error


def _json_pieces(slot: Slot, entry: Entry) -> Iterator[Piece]:
    """Text before a comma where there is more, in one line where a table was empty: so each is known again."""
    item = "\n" + indent(f"{_dumped(NAME)}: {_dumped(entry, 2)}", "    ")
    table, line = f"\n  {_dumped(slot.key)}: {{{item}\n  }}", f"{_dumped(NAME)}: {_dumped(entry)}"
    yield Piece(r"\A\s*\{", table + ",", whole=True)
    yield Piece(r"\A\s*\{", f"{_dumped(slot.key)}: {{ {line} }}", whole=True)
    yield Piece(rf"{_dumped(slot.key)}\s*:\s*\{{", item + ",")
    yield Piece(rf"{_dumped(slot.key)}\s*:\s*\{{", line)
    yield Piece(r"\A\s*\{", table, whole=True)


def _dumped(value: Any, spaces: int | None = None) -> str:
    return json.dumps(value, indent=spaces, ensure_ascii=False)


def _toml_pieces(slot: Slot, entry: Entry) -> Iterator[Piece]:
    lines = "\n".join(f"{key} = {_toml(value)}" for key, value in entry.items())
    yield Piece(r"\Z", f"\n[{slot.key}.{NAME}]\n{lines}\n")


def _toml(value: Any) -> str:
    """A value as TOML, which has the strings, lists and booleans of JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_dumped(name)} = {_toml(one)}" for name, one in value.items()) + " }"
    return _dumped(value)


def _yaml(text: str) -> Any:
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise UnknownFormError  # a few lines may stand for gigabytes
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UnknownFormError from error


def _yaml_pieces(slot: Slot, entry: Entry) -> Iterator[Piece]:
    import yaml

    written = [entry] if slot.listed else {NAME: entry}
    lines = yaml.safe_dump(written, sort_keys=False, width=1 << 20, allow_unicode=True)
    for margin in ("  ", "", "    "):
        yield Piece(rf"(?m)^{re.escape(slot.key)}:[^\S\n]*(#.*)?\n", indent(lines, margin))
    yield Piece(r"\Z", f"\n{slot.key}:\n{indent(lines, '  ')}", whole=True)


_FORMATS: dict[str, _Format] = {
    ".json": _Format(_json, _json_pieces),
    ".toml": _Format(tomllib.loads, _toml_pieces),
    ".yaml": _Format(_yaml, _yaml_pieces),
}
