"""Answers and selections as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from winnow_engine.core import Span, counted
from winnow_lsp.host.reply import place


def spans_lines(spans: Iterable[Span]) -> list[str]:
    """A line a span: place, tokens, score, what it is."""
    return [f"{place(s)}  {counted(s.tokens, 'token')}  {s.score:+.2f}  {kind_and_name(s)}" for s in spans]


def kind_and_name(span: Span) -> str:
    """Kind and name of a span, such as `method Context.invoke`."""
    return f"{span.kind} {span.name}".rstrip()


def notice_lines(notices: Iterable[str], stats: Mapping[str, Any], *, by_server: bool = False) -> Iterator[str]:
    """A line a notice, and who completes the index where that is wanting: the server that answered, or the user."""
    yield from (f"note: {notice}" for notice in notices)
    if stats["indexed_tokens"] < stats["workspace_tokens"]:
        completes = "your shared server completes it now" if by_server else "`winnow index` completes it"
        yield f"note: {completes}"


def stats_line(stats: Mapping[str, Any]) -> str:
    """Everything in one line, from the stats by name."""
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in stats["stages"].items())
    parts = [f"workspace {stats['workspace_tokens']:,} tokens", f"kept {stats['kept_tokens']:,}"]
    parts.extend([stages] if stats["ttft_s"] is None else _answer_parts(stats, stages))
    return " · ".join(parts)


def _answer_parts(stats: Mapping[str, Any], stages: str) -> Iterator[str]:
    if stats["reused_tokens"]:
        restored = f", {stats['restored_tokens']:,} of them on disk" if stats["restored_tokens"] else ""
        yield f"read before {stats['reused_tokens']:,}{restored}"
    yield f"first token {stats['ttft_s']:.2f} s ({stages})"
    drafted = f", {stats['accepted_tokens']} of {stats['drafted_tokens']} drafted were right"
    speed = f"{stats['decode_tokens']} tokens at {stats['decode_tokens_per_s']:.1f} tokens/s"
    yield speed + (drafted if stats["drafted_tokens"] else "")
    yield ", ".join(f"{model} {place}" for model, place in stats["places"].items())
    if stats["target_host"]:
        yield f"answered by {stats['target_host']}"
