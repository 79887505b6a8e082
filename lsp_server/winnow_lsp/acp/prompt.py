"""A prompt's content blocks as a question: its words, the files it mentions, and the cursor."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from winnow_engine.errors import PositionError
from winnow_engine.question import Cursor, Question, Turn
from winnow_lsp.acp.lines import INVALID_PARAMS, RequestError
from winnow_lsp.host.roots import below, file_path

_LINES = re.compile(r"L(\d{1,9})(?:[:-]L?(\d{1,9}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    mentions: bool = False
    cursor: Cursor | None = None


def question_of(blocks: object, folder: Path, earlier: tuple[Turn, ...]) -> Question:
    """The question of a prompt, whose cursor is the last block that names lines below `folder`. Raises RequestError."""
    if not isinstance(blocks, list):
        raise RequestError(INVALID_PARAMS, "prompt must be a list of content blocks")
    parts = [_part(block, folder) for block in blocks]
    text = _joined(parts)
    if not text.strip():
        raise RequestError(INVALID_PARAMS, "the prompt is empty: write a question")
    cursors = [part.cursor for part in parts if part.cursor]
    return Question(text, cursors[-1] if cursors else None, earlier)


def _joined(parts: Sequence[_Part]) -> str:
    """The texts one after another: blocks of text on lines of their own, mentions within the text around them."""
    joined, after_text = "", False
    for part in parts:
        apart = not joined or joined[-1].isspace() or part.text[:1].isspace()
        gap = " " if part.mentions else "\n" if after_text else ""
        joined += part.text if apart else gap + part.text
        after_text = not part.mentions
    return joined.strip()


def _part(block: object, folder: Path) -> _Part:
    match block:
        case {"type": "text", "text": str(text)}:
            return _Part(text)
        case {"type": "resource_link", "uri": str(uri)}:
            return _mention(uri, folder) or _Part(f"`{uri}`", mentions=True)
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return _mention(uri, folder) or _Part(f"\n\n`{uri}`:\n```\n{text}\n```\n", mentions=True)
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str()}}:
            return _mention(uri, folder) or _Part(f"`{uri}`", mentions=True)
        case {"type": "image" | "audio" as kind}:
            raise RequestError(INVALID_PARAMS, f"Winnow reads no {kind}: ask in words")
    shown = repr(block.get("type")) if isinstance(block, Mapping) else type(block).__name__
    raise RequestError(INVALID_PARAMS, f"prompt has a block that is no content: {shown}")


def _mention(uri: str, folder: Path) -> _Part | None:
    """A file below the folder, with its lines if the URI ends in some, such as `#L10-20`; None for another URI."""
    try:
        relative, fragment = below(file_path(uri), folder), urlsplit(uri).fragment
    except (PositionError, ValueError, OSError):
        return None
    if relative is None:
        return None
    path = relative.as_posix()
    lines = _LINES.fullmatch(fragment)
    if lines is None or not 1 <= int(lines[1]) <= int(lines[2] or lines[1]):
        return _Part(f"`{path}`", mentions=True)
    cursor = Cursor(path, int(lines[1]), int(lines[2] or lines[1]))
    last = f"-{cursor.end_line}" if lines[2] else ""
    return _Part(f"`{path}:{cursor.start_line}{last}`", True, cursor)


def text_of(value: Mapping[str, Any], name: str) -> str:
    """A field that must be a string. Raises RequestError."""
    found = value.get(name)
    if not isinstance(found, str):
        raise RequestError(INVALID_PARAMS, f"{name} must be a string")
    return found
