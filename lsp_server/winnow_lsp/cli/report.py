"""What a question gave, as text for people and as JSON for scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from winnow_engine.core import Citation, Span
from winnow_engine.selection.ranking import Stats


def spans_json(spans: Iterable[Span]) -> list[dict[str, Any]]:
    """Spans as `{path, start_line, end_line, tokens, score, kind, name, features}`."""
    return [asdict(span) for span in spans]


def citations_json(citations: Iterable[Citation]) -> list[dict[str, Any]]:
    """Citations as `{path, start_line, end_line}`."""
    return [asdict(citation) for citation in citations]


def stats_json(stats: Stats) -> dict[str, Any]:
    """Stats with times in seconds, to the millisecond."""
    rounded = {name: round(seconds, 3) for name, seconds in stats.stages.items()}
    ttft = None if stats.ttft_s is None else round(stats.ttft_s, 3)
    speed = round(stats.decode_tokens_per_s, 2)
    prefill = None if stats.prefill_tokens_per_s is None else round(stats.prefill_tokens_per_s, 1)
    rounded_too = {"ttft_s": ttft, "decode_tokens_per_s": speed, "prefill_tokens_per_s": prefill}
    return asdict(stats) | {"stages": rounded} | rounded_too


def place(item: Citation | Span) -> str:
    """`path:start-end`, which terminals and editors open."""
    last = "" if item.start_line == item.end_line else f"-{item.end_line}"
    return f"{item.path}:{item.start_line}{last}"


def spans_lines(spans: Iterable[Span]) -> list[str]:
    """A line a span: place, tokens, score, what it is."""
    return [f"{place(s)}  {s.tokens} tokens  {s.score:+.2f}  {s.kind} {s.name}".rstrip() for s in spans]


def stats_line(stats: Stats) -> str:
    """Everything in one line."""
    parts = [f"workspace {stats.workspace_tokens:,} tokens", f"kept {stats.kept_tokens:,}"]
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in stats.stages.items())
    if stats.ttft_s is not None:
        parts.extend([f"read before {stats.reused_tokens:,}{_restored(stats)}"] if stats.reused_tokens else [])
        parts.append(f"first token {stats.ttft_s:.2f} s ({stages})")
        parts.append(f"{stats.decode_tokens} tokens at {stats.decode_tokens_per_s:.1f} tokens/s{_drafted(stats)}")
        parts.extend([", ".join(f"{model} {place}" for model, place in stats.places.items())] if stats.places else [])
        parts.extend([f"answered by {stats.target_host}"] if stats.target_host else [])
    else:
        parts.append(stages)
    return " · ".join(parts)


def _restored(stats: Stats) -> str:
    return f", {stats.restored_tokens:,} of them on disk" if stats.restored_tokens else ""


def _drafted(stats: Stats) -> str:
    return f", {stats.accepted_tokens} of {stats.drafted_tokens} drafted were right" if stats.drafted_tokens else ""
