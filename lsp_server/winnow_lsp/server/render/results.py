"""Answers and selections as the JSON that docs/protocol.md describes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lsprotocol import types

from winnow_engine.assistant import Answer
from winnow_engine.core import Citation, Span
from winnow_engine.selection.ranking import Selection, Stats

Locate = Callable[[Citation | Span], types.Location]


def answer_json(answer: Answer, locate: Locate) -> dict[str, Any]:
    """`AskResult`, less its conversation."""
    return {
        "answer": answer.text,
        "finish": answer.finish,
        "citations": [locate(citation) for citation in answer.citations],
        "spans": _spans_json(answer.spans, locate),
        "stats": _stats_json(answer.stats),
        "notices": list(answer.notices),
    }


def selection_json(selection: Selection, locate: Locate) -> dict[str, Any]:
    """The result of `winnow/spans`."""
    return {
        "spans": _spans_json(selection.spans, locate),
        "stats": _stats_json(selection.stats),
        "notices": list(selection.notices),
    }


def _spans_json(spans: Iterable[Span], locate: Locate) -> list[dict[str, Any]]:
    return [
        {
            "location": locate(span),
            "score": span.score,
            "features": dict(span.features),
            "tokens": span.tokens,
            "kind": span.kind.value,
            "name": span.name,
        }
        for span in spans
    ]


def _stats_json(stats: Stats) -> dict[str, Any]:
    document = {
        "workspaceTokens": stats.workspace_tokens,
        "keptTokens": stats.kept_tokens,
        "budgetTokens": stats.budget_tokens,
        "answerProbability": stats.answer_probability,
        "stages": {name: round(seconds, 3) for name, seconds in stats.stages.items()},
        "promptTokens": stats.prompt_tokens,
        "reusedTokens": stats.reused_tokens,
        "restoredTokens": stats.restored_tokens,
        "decodeTokens": stats.decode_tokens,
        "decodeTokensPerSecond": round(stats.decode_tokens_per_s, 2),
        "draftedTokens": stats.drafted_tokens,
        "acceptedTokens": stats.accepted_tokens,
        "draft": stats.draft,
        "places": dict(stats.places),
    }
    if stats.prefill_tokens_per_s is not None:
        document["prefillTokensPerSecond"] = round(stats.prefill_tokens_per_s, 1)
    if stats.target_host is not None:
        document["targetHost"] = stats.target_host
    return document if stats.ttft_s is None else document | {"ttft": round(stats.ttft_s, 3)}
