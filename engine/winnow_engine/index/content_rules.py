"""Rules on a file's content: empty, binary, generated and minified files do not count."""

from __future__ import annotations

import re
from collections.abc import Iterator

from winnow_engine.index.encodings import is_utf8

_HEAD_BYTES = 8192
_HEAD_LINES = 10
_LONGEST_LINE = 5_000

# Control characters that text does hold: backspace, tab, line ends, form feed, escape.
_TEXT_BYTES = bytes({8, 9, 10, 12, 13, 27, *range(32, 127), *range(128, 256)})
_MOST_CONTROLS = 0.1

_COMMENT = re.compile(rb"\s*(?:#|//|/?\*|--|;|%|<!--|\(\*|\"\"\")")
_GENERATED = re.compile(
    rb"@generated\b"
    rb"|\bgenerated\b[^\n]{0,200}\bdo not (?:edit|modify|change)\b"
    rb"|\bthis (?:file|code|module) (?:is|was|has been) (?:auto-?|automatically )?generated\b"
    rb"|^\W*(?:auto-?|automatically )generated (?:by|from|with|file|code)\b",
    re.IGNORECASE,
)
# Files of OpenSSL, OpenSSH, PGP, PuTTY and age; of Google's service accounts; of kubectl.
_KEY = re.compile(
    rb"\s*(?:-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-|(?:#[^\n]*\n)*AGE-SECRET-KEY-1"
    rb"|\{[^{}]*\"private_key\"\s*:\s*\"-----BEGIN|apiVersion:(?:[^\n]*\n)* {1,40}client-key-data:\s)"
)


def unreadable_content(data: bytes) -> str | None:
    """Reason why these bytes, a `file_text`, are not text, or None."""
    if not data.strip():
        return "empty"
    if b"\0" in data:
        return "binary: NUL byte"
    if not is_utf8(data):
        return "binary: text in no known encoding"
    head = data[:_HEAD_BYTES]
    if len(head.translate(None, _TEXT_BYTES)) > _MOST_CONTROLS * len(head):
        return "binary: mostly control characters"
    return None


def unwanted_content(data: bytes) -> str | None:
    """Reason why nobody asks about this text, or None: it is a key, or written by a program."""
    return "secret: holds a private key" if _KEY.match(data[:_HEAD_BYTES]) else _machine_written(data)


def _machine_written(data: bytes) -> str | None:
    """Reason why a program wrote this text, or None: a note in its head, or very long lines."""
    for comment in _head_comments(data):
        if mark := _GENERATED.search(comment):
            return f"generated: marked {mark.group().decode('utf-8', 'replace').strip()!r} in its head"
    longest = max(map(len, data.splitlines()))
    return f"minified: longest line {longest:,} columns" if longest > _LONGEST_LINE else None


def _head_comments(data: bytes) -> Iterator[bytes]:
    """Comment lines among the first ten, each joined with the next line, where its sentence may continue."""
    head = data[:_HEAD_BYTES].splitlines()[:_HEAD_LINES]
    for line, following in zip(head, [*head[1:], b""], strict=True):
        if _COMMENT.match(line):
            yield line + b" " + following
