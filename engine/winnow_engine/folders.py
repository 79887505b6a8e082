"""Where Winnow keeps what it can make again. Imports no NumPy: `winnow_lsp/process.py` asks before that is loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """`$WINNOW_CACHE_DIR`, or the platform's cache directory for Winnow."""
    override = environment.get("WINNOW_CACHE_DIR")
    return Path(override).expanduser() if override else Path(platformdirs.user_cache_dir("winnow"))
