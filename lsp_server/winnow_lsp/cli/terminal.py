"""Text that others wrote, as a terminal may have it: code, commit messages, and what a model makes of them."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import click

_NOT_ESCAPED = re.compile(r"[\x7f-\x9f\ud800-\udfff]")
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def harmless(text: str) -> str:
    """The text with escapes for what a terminal would obey: every control character but line ends and tabs."""
    return _OBEYED.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


def show_json(document: Any, indent: int | None = None) -> None:
    """Print a JSON document. JSON itself has escapes for some control characters, and these for all others."""
    escaped = (sys.stdout.encoding or "utf-8").lower() != "utf-8"
    text = json.dumps(document, indent=indent, ensure_ascii=escaped)
    click.echo(_NOT_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def show(text: str, **options: Any) -> None:
    """Print such text, with the options of `click.echo`."""
    click.echo(harmless(text), **options)
