"""Progress on stderr: a live line on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType

import click
from rich.console import Console

from winnow_engine.core import Progress

_SECONDS_BETWEEN_LINES = 5.0


def describe(progress: Progress) -> str:
    """One line on where the work stands: files, tokens, speed, time left."""
    match progress.stage:
        case "index":
            return f"indexing {progress.done}/{progress.total} files{_rate(progress)}"
        case "prefill":
            return f"reading {progress.total:,} tokens of prompt ({progress.done:,} done)"
        case stage:
            return stage


def _rate(progress: Progress) -> str:
    if not progress.tokens or progress.elapsed_s <= 0:
        return ""
    speed = progress.tokens / progress.elapsed_s
    left = max(progress.total_tokens - progress.tokens, 0) / speed
    return f", {progress.tokens:,} tokens, {speed:,.0f} tokens/s, {left:.0f} s left"


class ProgressView(AbstractContextManager["ProgressView"]):
    """Shows each report it is called with; `stop` clears the live line, before other output starts."""

    def __init__(self, quiet: bool = False) -> None:
        self._live = Console(stderr=True).status("reading the workspace") if _live(quiet) else None
        self._quiet, self._last_line = quiet, time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Show one report."""
        if self._live is not None:
            self._live.update(describe(progress))
        elif not self._quiet and time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            click.echo(describe(progress), err=True)

    def stop(self) -> None:
        """Clear the live line for good."""
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


def _live(quiet: bool) -> bool:
    return not quiet and sys.stderr.isatty()
