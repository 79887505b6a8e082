"""Text that others wrote, as a terminal may have it: code, commit messages, and what a model makes of them."""

from __future__ import annotations

import re
from typing import Any

import click

_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def harmless(text: str) -> str:
    """The text with escapes for what a terminal would obey: every control character but line ends and tabs."""
    return _OBEYED.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


def show(text: str, **options: Any) -> None:
    """Print such text, with the options of `click.echo`."""
    click.echo(harmless(text), **options)
