"""What .ci/llama/build.py notes beside what it built: version, compiler, options and recipe, line by line."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import llama_cpp


@cache
def build_note(package: Path = Path(llama_cpp.__file__).parent) -> list[str]:
    """The lines of the note; none where llama.cpp was built otherwise."""
    note = package / "lib" / "winnow-build.txt"
    return note.read_text().splitlines() if note.is_file() else []
