"""Text for people: answers, selections, and progress, as a live view on a terminal or a line every few seconds."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from winnow_engine.core import Kept, Progress, Span, counted
from winnow_lsp.cli.terminal import harmless
from winnow_lsp.host.reply import indexing_line, place

_SECONDS_BETWEEN_LINES = 5.0
_MOST_PLACES = 8
_SETTING = re.compile(r"`winnow\.([\w.]+)`")  # as notices name it for editors


def spans_lines(spans: Iterable[Span]) -> list[str]:
    """A line a span: place, tokens, score, what it is."""
    return [f"{place(s)}  {counted(s.tokens, 'token')}  {s.score:+.2f}  {kind_and_name(s)}" for s in spans]


def kind_and_name(span: Span) -> str:
    """Kind and name of a span, such as `method Context.invoke`."""
    return f"{span.kind} {span.name}".rstrip()


def notice_lines(notices: Iterable[str], stats: Mapping[str, Any], *, by_server: bool = False) -> Iterator[str]:
    """A line a notice, and who completes the index where that is wanting: the server that answered, or the user."""
    yield from ("note: " + _SETTING.sub(r"--set \1", notice) for notice in notices)
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


class ProgressView:
    """Shows each report it is called with, and the kept code; `stop` clears them, before other output starts."""

    def __init__(self, quiet: bool = False) -> None:
        self._spans: tuple[Span, ...] = ()
        self._provisional, self._said = False, "reading the workspace"
        self.part = ""  # in front of each line
        self._spinner = Spinner("dots", style="status.spinner")
        on_terminal = sys.stderr is not None and sys.stderr.isatty()  # None: the caller closed it
        redraws = on_terminal and not Console(stderr=True).is_dumb_terminal  # Emacs's shell is one
        self._live = self._open() if redraws and not quiet else None
        self._quiet, self._last_line = quiet, time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Show one report of the index."""
        self.say(indexing_line(progress))

    def say(self, line: str) -> None:
        """Show what is being waited for."""
        self._said = line
        if self._live is None and not self._quiet and time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            click.echo(self.part + line, err=True)

    def kept(self, kept: Kept) -> None:
        """Show the code that the answer will rest on, until the answer begins."""
        self._spans, self._provisional = kept.spans, kept.provisional
        if self._live is not None:
            self._live.refresh()

    def stop(self) -> None:
        """Clear the live view for good."""
        live, self._live, self._quiet = self._live, None, True
        if live is not None:
            live.stop()

    def __enter__(self) -> ProgressView:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _open(self) -> Live:
        return Live(console=Console(stderr=True), get_renderable=self._view, transient=True, refresh_per_second=8)

    def _view(self) -> Group:
        self._spinner.update(text=Text(self.part + self._said))
        so_far = [Text("found so far:", "dim")] if self._provisional and self._spans else []
        return Group(*so_far, *_places(self._spans), self._spinner)


def _places(spans: tuple[Span, ...]) -> Iterator[Text]:
    best = spans[:_MOST_PLACES]
    width = max((len(place(span)) for span in best), default=0)
    for span in best:
        line = Text(f"  {place(span):{width}}", no_wrap=True, overflow="ellipsis")
        yield line.append(f"  {harmless(kind_and_name(span))}", "dim")
    if len(spans) > _MOST_PLACES:
        yield Text(f"  and {len(spans) - _MOST_PLACES} more", "dim")
