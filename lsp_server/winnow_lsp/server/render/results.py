"""Answers and selections as the JSON that docs/protocol.md describes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from lsprotocol import types

from winnow_engine.core import Citation, Kept, Span
from winnow_engine.editing.proposing import Proposal
from winnow_engine.review.review import Review
from winnow_engine.selection.ranking import Selection, SelectionStats
from winnow_engine.targets.answer import Answer, Stats
from winnow_lsp.host.stat_names import for_wire
from winnow_lsp.host.stats import flat_stats

Locate = Callable[[Citation | Span], types.Location]


def answer_json(answer: Answer, locate: Locate) -> dict[str, Any]:
    """`AskResult`, less its conversation."""
    thinking = {} if answer.thought is None else {"thinking": asdict(answer.thought)}
    return {
        "answer": answer.text,
        **thinking,
        "finish": answer.finish,
        "citations": [locate(citation) for citation in answer.citations if not citation.commit],
        **_before_json(answer.citations, locate),
        "spans": _spans_json(answer.spans, locate),
        "stats": _stats_json(answer.stats),
        "notices": list(answer.notices),
    }


def kept_json(kept: Kept, locate: Locate) -> dict[str, Any]:
    """The parameters of `winnow/kept`, less its token."""
    expected = {} if kept.seconds is None else {"seconds": round(kept.seconds, 1)}
    return {"spans": _spans_json(kept.spans, locate), **expected}


def selection_json(selection: Selection, locate: Locate) -> dict[str, Any]:
    """The result of `winnow/spans`."""
    return {
        "spans": _spans_json(selection.spans, locate),
        "stats": _stats_json(selection.stats),
        "notices": list(selection.notices),
    }


def review_json(review: Review, locate: Locate) -> dict[str, Any]:
    """The result of the command `winnow.review`, less its page: also what clients show of any answer."""
    findings = [
        {
            "location": locate(Citation(one.path, one.start_line, one.end_line)),
            "reason": one.reason,
            "confidence": one.confidence,
            "rule": one.rule,
        }
        for one in review.findings
    ]
    files = [asdict(file) for file in review.files]
    said = {"title": review.title, "summary": review.summary, "unsupported": review.unsupported}
    as_answer = {"finish": "eos", "citations": [finding["location"] for finding in findings], "notices": []}
    return {**as_answer, **said, "files": files, "findings": findings}


def _before_json(citations: Iterable[Citation], locate: Locate) -> dict[str, Any]:
    """The cited lines that a change removed, each with the commit that has them; nothing if there are none."""
    found = [{"location": locate(citation), "commit": citation.commit} for citation in citations if citation.commit]
    return {"citedBefore": found} if found else {}


def proposal_json(proposal: Proposal, locate: Locate) -> dict[str, Any]:
    """`EditResult`, less the edit."""
    return {
        "title": proposal.title,
        "diff": proposal.edit.diff,
        "checked": proposal.checked,
        "spans": _spans_json(proposal.spans, locate),
        "notices": list(proposal.notices),
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


def _stats_json(stats: Stats | SelectionStats) -> dict[str, Any]:
    """The stats in camelCase, without those that say nothing."""
    return for_wire(flat_stats(stats))
