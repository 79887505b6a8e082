"""The lists of words in `words.toml`, by name."""

from __future__ import annotations

import tomllib
from pathlib import Path

WORDS: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))
