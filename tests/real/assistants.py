"""Assistants on real weights, each with an index of its own."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from winnow_engine.assistant import Assistant
from winnow_engine.config import TargetOptions
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.storage.store import Store
from winnow_engine.targets.local.target import LlamaTarget


@contextmanager
def opened(
    folder: Path, drafter: Path, target: Path | None = None, options: TargetOptions | None = None
) -> Iterator[Assistant]:
    """An assistant whose index lies in `folder`; without a target it only selects."""
    answers = None if target is None else lambda: LlamaTarget.open(target, options)
    with (
        closing(Store(folder / "index.sqlite")) as store,
        closing(Assistant(store, lambda: Drafter(drafter), answers)) as one,
    ):
        yield one
