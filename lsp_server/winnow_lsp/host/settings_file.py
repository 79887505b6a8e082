"""`winnow.toml`: the user's own settings for commands.

It lies in the user's configuration folder, and is never read from the repository asked about, which could name a target
of its own to send code to.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import platformdirs

from winnow_lsp.host.settings import read_values


def settings_file() -> Path:
    """The path of `winnow.toml`, whether it exists or not."""
    return Path(platformdirs.user_config_dir("winnow")) / "winnow.toml"


def read_settings_file() -> tuple[dict[str, Any], tuple[str, ...]]:
    """The valid values in `winnow.toml` by name, and the problems with the others.

    Raises ValueError if the file cannot be read.
    """
    path = settings_file()
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}, ()
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    return read_values(document, prefix=f"{path}: ")
