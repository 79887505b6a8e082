"""Notebooks as Python: their cells without what running them put out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from winnow_engine.errors import NotJsonError
from winnow_engine.untrusted import read_json

SUFFIX = ".ipynb"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MAGIC = re.compile(r"\s*(?:%%?\w|!|\?)")
_PICTURE = re.compile(r"data:[\w/+.-]+;base64,[\w/+=-]+")
_SOURCE = re.compile(r'\s*"source": \[\s*')


def notebook_code(data: bytes) -> bytes | None:
    """The cells of a notebook, with text and magic commands as comments; None if it is none.

    Where each line of code has a line of the file, as Jupyter writes it, it keeps that line's number.
    """
    try:
        cells = [(cell["cell_type"], _source(cell["source"])) for cell in _cells(read_json(data))]
    except (KeyError, TypeError, NotJsonError):
        return None
    lines = data.decode("utf-8", "replace").split("\n")
    placed = _placed(lines, [source for _, source in cells])
    if placed is None:
        shown = [line for kind, source in cells for line in (*_shown(kind, source), "")]
    else:
        shown = [""] * len(lines)
        for start, (kind, source) in zip(placed, cells, strict=True):
            shown[start : start + len(source)] = _shown(kind, source)
    return "\n".join(shown).encode("utf-8", "replace")


def _cells(document: Any) -> Iterator[Any]:
    """The cells of a notebook of version 4, or of the worksheets of an older one. KeyError, TypeError for others."""
    if "worksheets" not in document:
        yield from document["cells"]
        return
    for cell in (cell for sheet in document["worksheets"] for cell in sheet["cells"]):
        yield {"source": cell.get("source", cell.get("input", "")), "cell_type": cell["cell_type"]}


def _source(source: Any) -> list[str]:
    """A cell's lines with their ends, one line a string."""
    return _LINE.findall("".join([source] if isinstance(source, str) else source))


def _shown(kind: str, source: Sequence[str]) -> list[str]:
    """A cell's lines, as comments where they are no code."""
    lines = [_PICTURE.sub("…", line.rstrip("\r\n")) for line in source]
    return [f"# {line}".rstrip() if kind != "code" or _MAGIC.match(line) else line for line in lines]


def _placed(lines: Sequence[str], sources: Sequence[Sequence[str]]) -> list[int] | None:
    """The place of each source's first line among a file's lines; None if they are not there one by one."""
    found, at = [], 0
    for source in sources:
        while source and not _stands_at(lines, at, source):
            at += 1
            if at == len(lines):
                return None
        found.append(at + bool(source))
        at += len(source)
    return found


def _stands_at(lines: Sequence[str], at: int, source: Sequence[str]) -> bool:
    """True if the lines after this one are those of a source."""
    if not _SOURCE.fullmatch(lines[at]) or at + len(source) >= len(lines):
        return False
    return all(_is_string(line, text) for line, text in zip(lines[at + 1 :], source, strict=False))


def _is_string(line: str, text: str) -> bool:
    try:
        return bool(read_json(line.strip().removesuffix(",")) == text)
    except NotJsonError:
        return False
