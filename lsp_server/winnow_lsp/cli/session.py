"""One command's run of the engine: the assistant it asks, and Ctrl-C as cancellation."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import Any

import click

from winnow_engine.assistant import Assistant
from winnow_engine.config import TargetOptions, draft_of
from winnow_engine.core import Cancellation
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.models.cache import locate
from winnow_engine.store import CACHE_BYTES, Store, default_path
from winnow_engine.targets.base import Target
from winnow_engine.targets.opening import opener, placed
from winnow_engine.targets.remote.address import sent_to


@contextmanager
def assistant(options: dict[str, Any], target: bool) -> Iterator[Assistant]:
    """The assistant a command's options describe; models must be there before anything starts."""
    drafter_file = locate(options["drafter"])
    open_target = target_opener(options) if target else None

    def open_drafter() -> Drafter:
        return Drafter(drafter_file, on_compile=lambda kernel: click.echo(f"compiling {kernel} for the GPU", err=True))

    with closing(Store(default_path())) as store:
        with closing(Assistant(store, open_drafter, open_target)) as made:
            yield made
        store.trim(CACHE_BYTES)


def target_opener(options: dict[str, Any]) -> Callable[[], Target]:
    """What opens the target among a command's options. Says so if prompts are going to another machine."""
    disk = options["snapshot_megabytes"] * 10**6
    local = TargetOptions(kv_type=options["kv_type"], draft=draft_of(options["draft"]), snapshot_bytes=disk)
    local = placed(local, options["target_place"], options["target"], locate(options["drafter"]))
    opens = opener(options["target"], local, options["target_context"])
    if host := sent_to(options["target"]):
        click.echo(f"winnow: answers come from {host}; your code is sent there", err=True)
    return opens


@contextmanager
def cancel_on_interrupt() -> Iterator[Cancellation]:
    """A cancellation that the first Ctrl-C sets; a second one interrupts at once."""
    cancellation = Cancellation()

    def on_interrupt(_signal: int, _frame: FrameType | None) -> None:
        if cancellation.cancelled:
            raise KeyboardInterrupt
        cancellation.cancel()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield cancellation
    finally:
        signal.signal(signal.SIGINT, before)
