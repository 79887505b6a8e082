"""Winnow's command, with chunks so small that a little workspace is many."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from winnow_engine.fleet import fleet
from winnow_engine.storage.folders import cache_folder
from winnow_lsp.cli.main import main
from winnow_research.faults.home import Home, lower_thresholds


def start(arguments: Sequence[str], home: Home, cache: Path) -> subprocess.Popen[str]:
    """The command in a process of its own, which has a cache and a shared server of its own."""
    own = {"WINNOW_CACHE_DIR": str(cache), "XDG_RUNTIME_DIR": str(home.place)}
    own["NUMBA_CACHE_DIR"] = str(cache_folder() / "numba")
    return subprocess.Popen(
        [sys.executable, "-m", "winnow_research.faults.command", *arguments],
        env=os.environ | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


if __name__ == "__main__":
    lower_thresholds()
    fleet.CHUNK_CHARACTERS = dict.fromkeys(fleet.CHUNK_CHARACTERS, 1500)
    sys.exit(main())
