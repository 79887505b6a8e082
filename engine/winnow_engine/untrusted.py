"""Text and JSON of unknown origin, read and shown safely."""

from __future__ import annotations

import json
import re
from typing import Any

from winnow_engine.errors import NotJsonError

# Controls, ends of lines, orders to write from right to left, which make a name look like another, and halves of pairs.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


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


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a text, None if it is none; an empty text counts as an empty object."""
    try:
        found = read_json(text or "{}")
    except NotJsonError:
        return None
    return found if isinstance(found, dict) else None


def printable(text: str) -> str:
    """The text with escapes for control characters, and for bytes that are not UTF-8."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
