"""An answer as clients show it, whichever process computed it: its places, its stats by name, text in Markdown.

Imports nothing of the models, so that a command that asks a running server starts at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winnow_engine.core import Citation, Span, Thought

ON_THE_WIRE: Mapping[str, str] = {
    "workspace_tokens": "workspaceTokens", "indexed_tokens": "indexedTokens", "kept_tokens": "keptTokens",
    "budget_tokens": "budgetTokens", "answer_probability": "answerProbability", "stages": "stages", "ttft_s": "ttft",
    "prompt_tokens": "promptTokens", "reused_tokens": "reusedTokens", "restored_tokens": "restoredTokens",
    "decode_tokens": "decodeTokens", "decode_tokens_per_s": "decodeTokensPerSecond",
    "drafted_tokens": "draftedTokens", "accepted_tokens": "acceptedTokens", "draft": "draft", "places": "places",
    "prefill_tokens_per_s": "prefillTokensPerSecond", "target_host": "targetHost",
}  # fmt: skip

_MEANS_SOMETHING = re.compile(r"[\\`\[\]<>]")


def for_wire(stats: Mapping[str, Any]) -> dict[str, Any]:
    """The stats in camelCase, without those that say nothing."""
    return {name: stats[key] for key, name in ON_THE_WIRE.items() if stats[key] is not None}


def from_wire(stats: Mapping[str, Any]) -> dict[str, Any]:
    """The stats in snake_case; None for those that are not there."""
    return {key: stats.get(name) for key, name in ON_THE_WIRE.items()}


def code(text: str) -> str:
    """The text as a code span, whatever backticks are in it."""
    fence = _fence(text)
    line = " ".join(text.split("\n"))
    return f"{fence} {line} {fence}" if len(fence) > 1 else f"`{line}`"


def block(text: str, language: str) -> str:
    """The text as a block of code, whatever backticks are in it."""
    fence = max(_fence(text), "```")
    return f"{fence}{language}\n{text}\n{fence}"


def _fence(text: str) -> str:
    return "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)


def plain(text: str) -> str:
    """The text with escapes for what would begin or end a link or tag."""
    return _MEANS_SOMETHING.sub(r"\\\g<0>", text)


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


def place(item: Citation | Span) -> str:
    """`path:start-end`, which terminals and editors open; before it the commit that has the lines, if they are gone."""
    commit = f"{item.commit[:10]}:" if isinstance(item, Citation) and item.commit else ""
    last = "" if item.start_line == item.end_line else f"-{item.end_line}"
    return f"{commit}{item.path}:{item.start_line}{last}"
