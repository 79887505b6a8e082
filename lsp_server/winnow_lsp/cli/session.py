"""One command's run of the engine: the assistant it asks, and Ctrl-C as cancellation."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import Any

import click

from winnow_engine.assistant import Assistant
from winnow_engine.core import Cancellation
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.store import CACHE_BYTES, Store, default_path
from winnow_engine.models.cache import locate
from winnow_engine.target.llama import LlamaTarget
from winnow_engine.target.options import TargetOptions, draft_of


@contextmanager
def assistant(options: dict[str, Any], target: bool) -> Iterator[Assistant]:
    """The assistant a command's options describe; models must be there before anything starts."""
    drafter_file = locate(options["drafter"])
    target_file = locate(options["target"]) if target else None
    draft = draft_of(options["draft"]) if target else "off"

    def open_target() -> LlamaTarget:
        assert target_file is not None
        return LlamaTarget.open(target_file, TargetOptions(kv_type=options["kv_type"], draft=draft))

    def open_drafter() -> Drafter:
        return Drafter(drafter_file, on_compile=lambda kernel: click.echo(f"compiling {kernel} for the GPU", err=True))

    with closing(Store(default_path())) as store:
        with closing(Assistant(store, open_drafter, open_target if target else None)) as made:
            yield made
        store.trim(CACHE_BYTES)


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
