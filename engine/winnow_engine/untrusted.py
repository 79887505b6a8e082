"""Text and JSON of unknown origin, read and shown safely."""

from __future__ import annotations

import json
from typing import Any

from winnow_engine.errors import NotJsonError


def read_json(text: str | bytes | bytearray, **options: Any) -> Any:
    """The value of a JSON text; `options` are those of `json.loads`. Raises NotJsonError, whatever the text is."""
    try:
        return json.loads(text, **options)
    except json.JSONDecodeError as error:
        unfinished = error.pos >= len(error.doc) or error.msg.startswith("Unterminated string")
        raise NotJsonError(str(error), unfinished) from error
    except ValueError as error:
        raise NotJsonError(str(error)) from error
    except RecursionError as error:
        raise NotJsonError("it is nested too deeply") from error


def printable(text: str) -> str:
    """The text with escapes for what a terminal or JSON cannot hold."""
    return text if text.isprintable() else text.encode("unicode_escape", "surrogateescape").decode("ascii", "replace")
