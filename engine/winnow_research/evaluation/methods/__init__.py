"""The ways of scoring that are compared: one row of the tables, one module of this package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from winnow_engine.drafter.drafter import Drafter
from winnow_research.evaluation.methods.base import Row
from winnow_research.evaluation.methods.lexical import Bm25, Symbols
from winnow_research.evaluation.methods.minilm import MiniLm
from winnow_research.evaluation.methods.product import Profile, Winnow, with_one_head
from winnow_research.evaluation.methods.published import Published
from winnow_research.evaluation.methods.stages import TwoStages


def all_rows(drafter: Path, directory: Path | None = None) -> tuple[Row, ...]:
    """Every row, for the drafter in GGUF file `drafter`; nothing is loaded before a row is used.

    `directory` is where downloads are kept (see `archives.default_directory`).
    """
    shipped = cache(lambda: Drafter(drafter))
    return (
        Bm25(),
        Symbols(),
        MiniLm(directory),
        Published(drafter, rotated=True),
        Published(drafter, rotated=False),
        Profile("one head", cache(lambda: with_one_head(drafter))),
        Profile("profile", shipped),
        Winnow(shipped),
        TwoStages(shipped),
    )
