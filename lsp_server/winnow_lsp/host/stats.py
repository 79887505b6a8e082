"""The cost of a question, as one flat document for JSON and for people."""

from __future__ import annotations

from typing import Any

from winnow_engine.selection.ranking import SelectionStats
from winnow_engine.targets.answer import Stats
from winnow_engine.targets.base import Generation

_NOT_ANSWERED = Generation("", "cancelled", 0, 0, 0.0, None, 0, 0.0)


def flat_stats(stats: Stats | SelectionStats) -> dict[str, Any]:
    """The stats of an answer, or of a selection alone, by name. Seconds are rounded to the millisecond."""
    answered = stats if isinstance(stats, Stats) else None
    selection = stats.selection if isinstance(stats, Stats) else stats
    generation = answered.generation if answered else _NOT_ANSWERED
    throughput = answered.prefill_tokens_per_s if answered else None
    return {
        "workspace_tokens": selection.workspace_tokens,
        "indexed_tokens": selection.indexed_tokens,
        "kept_tokens": selection.kept_tokens,
        "budget_tokens": selection.budget_tokens,
        "answer_probability": selection.answer_probability,
        "stages": {name: round(seconds, 3) for name, seconds in stats.stages.items()},
        "ttft_s": round(answered.ttft_s, 3) if answered else None,
        "prompt_tokens": generation.prompt_tokens,
        "reused_tokens": generation.reused_tokens,
        "restored_tokens": generation.restored_tokens,
        "decode_tokens": generation.decode_tokens,
        "decode_tokens_per_s": round(generation.decode_tokens_per_s, 2),
        "drafted_tokens": generation.drafted_tokens,
        "accepted_tokens": generation.accepted_tokens,
        "draft": generation.draft,
        "places": dict(answered.places) if answered else {},
        "target_host": answered.target_host if answered else None,
        "prefill_tokens_per_s": None if throughput is None else round(throughput, 1),
    }
