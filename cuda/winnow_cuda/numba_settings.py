"""Keeps Numba from taking settings from a file in the working directory, which may be somebody's repository.

`.numba_config.yaml` could have it overwrite any file of the user's (`chrome_trace`), compile nothing, or fail to load.
What the environment says counts.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

_FILE = ".numba_config.yaml"


def ignore_settings_file(module: str) -> None:
    """Import a module with settings of Numba's such that it does not read the file, now or later."""
    exists = os.path.exists
    os.path.exists = lambda path: path != _FILE and exists(path)
    try:
        settings: Any = importlib.import_module(module)
    finally:
        os.path.exists = exists
    settings._config_fname = ""  # the name is looked up again whenever a function is compiled
