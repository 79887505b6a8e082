"""Progress on stderr: a live view on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import TracebackType

import click
from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from winnow_engine.core import Kept, Progress, Span
from winnow_lsp.cli.report import kind_and_name
from winnow_lsp.cli.terminal import harmless
from winnow_lsp.host.reply import place
from winnow_lsp.host.waiting import Waiting, indexing_line

_SECONDS_BETWEEN_LINES = 5.0
_MOST_PLACES = 8


class ProgressView(AbstractContextManager["ProgressView"]):
    """Shows each report it is called with, and the kept code; `stop` clears them, before other output starts."""

    def __init__(self, quiet: bool = False) -> None:
        self._spans: tuple[Span, ...] = ()
        self._waiting, self._index = Waiting(), "reading the workspace"
        self._ranked, self._said = False, ""
        self._spinner = Spinner("dots", style="status.spinner")
        on_terminal = sys.stderr is not None and sys.stderr.isatty()  # None: the caller closed it
        self._live = self._open() if on_terminal and not quiet else None
        self._quiet, self._last_line = quiet, time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Show one report."""
        if progress.stage == "prefill":
            self._ranked = True
            self._waiting.read(progress)
        else:
            self._index = indexing_line(progress)
        self._print_line()

    def say(self, line: str) -> None:
        """Show what is being waited for, in place of reports."""
        self._said = line
        self._print_line()

    def kept(self, kept: Kept) -> None:
        """Show the code that the answer will rest on, until the answer begins."""
        self._spans, self._ranked = kept.spans, True
        self._waiting.kept(kept)
        if self._live is not None:
            self._live.refresh()

    def think(self, _text: str) -> None:
        """Show that the target thinks, but not what."""
        self._ranked, self._said = True, ""
        self._waiting.think()
        self._print_line()

    def stop(self) -> None:
        """Clear the live view for good."""
        live, self._live, self._quiet = self._live, None, True
        if live is not None:
            live.stop()

    def __enter__(self) -> ProgressView:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _print_line(self) -> None:
        if self._live is None and not self._quiet and time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            click.echo(self._line(), err=True)

    def _open(self) -> Live:
        return Live(console=Console(stderr=True), get_renderable=self._view, transient=True, refresh_per_second=8)

    def _view(self) -> Group:
        self._spinner.update(text=Text(self._line()))
        return Group(*_places(self._spans), self._spinner)

    def _line(self) -> str:
        return self._said or (self._waiting.line() if self._ranked else self._index)


def _places(spans: tuple[Span, ...]) -> Iterator[Text]:
    """A line for each of the best spans, and one for the others."""
    best = spans[:_MOST_PLACES]
    width = max((len(place(span)) for span in best), default=0)
    for span in best:
        line = Text(f"  {place(span):{width}}", no_wrap=True, overflow="ellipsis")
        yield line.append(f"  {harmless(kind_and_name(span))}", "dim")
    if len(spans) > _MOST_PLACES:
        yield Text(f"  and {len(spans) - _MOST_PLACES} more", "dim")
