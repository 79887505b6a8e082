"""The environment of processes that run modules of this package."""

from __future__ import annotations

import os
from pathlib import Path


def environment(**own: str) -> dict[str, str]:
    """The environment here, in which this package is found, with variables of its own."""
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **own}
