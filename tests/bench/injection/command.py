"""Winnow's command, with chunks so small that a little workspace is many: `python -m injection.command index …`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from injection.environment import environment
from injection.home import Home, lower_thresholds
from winnow_engine.fleet import fleet
from winnow_engine.storage.folders import cache_folder
from winnow_lsp.cli.main import main


def start(arguments: Sequence[str], home: Home, cache: Path) -> subprocess.Popen[str]:
    """The command in a process of its own, which has a cache and a shared server of its own."""
    own = environment(
        WINNOW_CACHE_DIR=str(cache), NUMBA_CACHE_DIR=str(cache_folder() / "numba"), XDG_RUNTIME_DIR=str(home.place)
    )
    return subprocess.Popen(
        [sys.executable, "-m", "injection.command", *arguments],
        env=own,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


if __name__ == "__main__":
    lower_thresholds()
    fleet.CHUNK_CHARACTERS = dict.fromkeys(fleet.CHUNK_CHARACTERS, 1500)
    sys.exit(main())
