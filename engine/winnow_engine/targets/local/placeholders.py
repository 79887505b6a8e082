"""Marks that stand in for texts while a chat template is rendered, and show where the template put them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

_MARK = re.compile(r"@@(text|json)-(\d+)@@")
# Every vocabulary writes its control tokens with brackets. A text without one is not even a part of such a token.
_RISKY = re.compile(r"[<>\[\]|｜]|@@")


class Placeholders:
    """The texts of one conversation that the template must not see."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def put(self, text: str) -> str:
        """The mark that stands for `text` from now on."""
        self._texts.append(text)
        return f"@@text-{len(self._texts) - 1}@@"

    def guard(self, value: Any) -> Any:
        """A JSON value in which marks replace strings, keys included, that could pose as control tokens or marks.

        Other strings stay, because a tokeniser splits words differently where they stand alone.
        """
        if isinstance(value, str):
            return self.put(value) if _RISKY.search(value) else value
        if isinstance(value, dict):
            return {self.guard(key): self.guard(inner) for key, inner in value.items()}
        return [self.guard(inner) for inner in value] if isinstance(value, list) else value

    def pieces(self, rendered: str) -> Iterator[tuple[str, bool]]:
        """The rendered text in order, with its marks replaced: pieces, each with whether it is the template's own."""
        end = 0
        for match in _MARK.finditer(rendered):
            yield rendered[end : match.start()], True
            text = self._texts[int(match[2])]
            yield (text if match[1] == "text" else json.dumps(text, ensure_ascii=False)[1:-1]), False
            end = match.end()
        yield rendered[end:], True


def shown(rendered: str) -> set[str]:
    """The marks in `rendered`, as `put` gave them."""
    return {f"@@text-{number}@@" for _, number in _MARK.findall(rendered)}


def first_of(marks: Collection[str], rendered: str) -> int:
    """Where the first of these marks stands in `rendered`, or its end."""
    found = (match.start() for match in _MARK.finditer(rendered) if f"@@text-{match[2]}@@" in marks)
    return next(found, len(rendered))


def to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """A template's `tojson` as in transformers. Jinja's own one escapes for HTML, which models do not expect.

    Marks in the value are marked as standing for texts to be escaped.
    """
    text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    return _MARK.sub(r"@@json-\2@@", text)
