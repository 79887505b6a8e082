"""The names of an answer's stats: in snake_case for commands, in camelCase for the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ON_THE_WIRE: Mapping[str, str] = {
    "workspace_tokens": "workspaceTokens", "indexed_tokens": "indexedTokens", "kept_tokens": "keptTokens",
    "budget_tokens": "budgetTokens", "answer_probability": "answerProbability", "stages": "stages", "ttft_s": "ttft",
    "prompt_tokens": "promptTokens", "reused_tokens": "reusedTokens", "restored_tokens": "restoredTokens",
    "decode_tokens": "decodeTokens", "decode_tokens_per_s": "decodeTokensPerSecond",
    "drafted_tokens": "draftedTokens", "accepted_tokens": "acceptedTokens", "draft": "draft", "places": "places",
    "prefill_tokens_per_s": "prefillTokensPerSecond", "target_host": "targetHost",
}  # fmt: skip


def for_wire(stats: Mapping[str, Any]) -> dict[str, Any]:
    """The stats in camelCase, without those that say nothing."""
    return {name: stats[key] for key, name in ON_THE_WIRE.items() if stats[key] is not None}


def from_wire(stats: Mapping[str, Any]) -> dict[str, Any]:
    """The stats in snake_case; None for those that are not there."""
    return {key: stats.get(name) for key, name in ON_THE_WIRE.items()}
