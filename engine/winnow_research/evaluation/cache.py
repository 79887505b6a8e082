"""The store of what the evaluation computes from files, beside the product's own."""

from __future__ import annotations

from pathlib import Path

from winnow_engine.storage.store import default_path

MOST_BYTES = 16 << 30
"""The size to which a benchmark trims the store."""


def cache_path() -> Path:
    """The file of the store."""
    return default_path().with_name("evaluation.sqlite")
