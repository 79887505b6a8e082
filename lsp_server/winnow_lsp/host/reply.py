"""An answer as commands show it, whichever process computed it.

Imports nothing of the models, so that a command that asks a running server starts at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from winnow_engine.core import Citation, Span, Thought


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `stats` are those of `host/stats.py`; `finish` says why it ended, `thinking` is the thought before."""

    answer: str
    citations: tuple[Citation, ...]
    spans: tuple[Span, ...]
    stats: Mapping[str, Any]
    finish: str
    notices: tuple[str, ...]
    thinking: Thought | None = None

    def as_json(self) -> dict[str, Any]:
        """The document that `winnow ask --json` prints."""
        return asdict(self)


def place(item: Citation | Span) -> str:
    """`path:start-end`, which terminals and editors open; before it the commit that has the lines, if they are gone."""
    commit = f"{item.commit[:10]}:" if isinstance(item, Citation) and item.commit else ""
    last = "" if item.start_line == item.end_line else f"-{item.end_line}"
    return f"{commit}{item.path}:{item.start_line}{last}"
