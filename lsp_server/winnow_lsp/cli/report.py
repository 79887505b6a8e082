"""What a question gave, as text for people and as JSON for scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from winnow_engine.assistant import Stats
from winnow_engine.core import Citation, Span
from winnow_engine.selection.ranking import SelectionStats


def spans_json(spans: Iterable[Span]) -> list[dict[str, Any]]:
    """Spans as `{path, start_line, end_line, tokens, score, kind, name, features}`."""
    return [asdict(span) for span in spans]


def citations_json(citations: Iterable[Citation]) -> list[dict[str, Any]]:
    """Citations as `{path, start_line, end_line}`."""
    return [asdict(citation) for citation in citations]


def place(item: Citation | Span) -> str:
    """`path:start-end`, which terminals and editors open."""
    last = "" if item.start_line == item.end_line else f"-{item.end_line}"
    return f"{item.path}:{item.start_line}{last}"


def spans_lines(spans: Iterable[Span]) -> list[str]:
    """A line a span: place, tokens, score, what it is."""
    return [f"{place(s)}  {s.tokens} tokens  {s.score:+.2f}  {kind_and_name(s)}" for s in spans]


def kind_and_name(span: Span) -> str:
    """What a span is, such as `method Context.invoke`."""
    return f"{span.kind} {span.name}".rstrip()


def stats_line(stats: Stats | SelectionStats) -> str:
    """Everything in one line."""
    selection = stats.selection if isinstance(stats, Stats) else stats
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in stats.stages.items())
    parts = [f"workspace {selection.workspace_tokens:,} tokens", f"kept {selection.kept_tokens:,}"]
    parts.extend(_answer_parts(stats, stages) if isinstance(stats, Stats) else [stages])
    return " · ".join(parts)


def _answer_parts(stats: Stats, stages: str) -> Iterator[str]:
    generation = stats.generation
    if generation.reused_tokens:
        restored = f", {generation.restored_tokens:,} of them on disk" if generation.restored_tokens else ""
        yield f"read before {generation.reused_tokens:,}{restored}"
    yield f"first token {stats.ttft_s:.2f} s ({stages})"
    drafted = f", {generation.accepted_tokens} of {generation.drafted_tokens} drafted were right"
    speed = f"{generation.decode_tokens} tokens at {generation.decode_tokens_per_s:.1f} tokens/s"
    yield speed + (drafted if generation.drafted_tokens else "")
    yield ", ".join(f"{model} {place}" for model, place in stats.places.items())
    if stats.target_host:
        yield f"answered by {stats.target_host}"
