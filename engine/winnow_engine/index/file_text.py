"""The text of a file that Winnow reads: UTF-8, and of a notebook its code."""

from __future__ import annotations

from winnow_engine.index.encodings import as_utf8
from winnow_engine.index.notebooks import SUFFIX, notebook_code

NOTEBOOK = "notebook"


def is_notebook(path: str) -> bool:
    """True for a notebook by its name."""
    return path.lower().endswith(SUFFIX)


def file_text(path: str, data: bytes) -> tuple[bytes, str]:
    """The text of a file, and what it was made of: an encoding, NOTEBOOK, or "" if it is the file's bytes."""
    text, encoding = as_utf8(data)
    code = notebook_code(text) if is_notebook(path) else None
    return (text, encoding) if code is None else (code, NOTEBOOK)
