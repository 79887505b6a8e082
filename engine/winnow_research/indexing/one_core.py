"""What one core does of each kind of work on text, by processor time: stages of the index run on several."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.lexical import counted
from winnow_engine.index.symbols import FileAnalysis, analyse
from winnow_engine.index.workspace import Workspace
from winnow_engine.storage.store import content_key

T = TypeVar("T")

_MOST_FILES = 200


def one_core(workspace: Workspace, root: Path, drafter: Drafter) -> dict[str, float]:
    """Tokens a second of processor time, by kind of work, on 200 files at most, spread over the workspace."""
    files = workspace.files[:: 1 + len(workspace.files) // _MOST_FILES]
    paths = [file.path for file in files]
    seconds = dict[str, float]()

    def timed(name: str, work: Callable[[], T]) -> T:
        started = time.process_time()
        found = work()
        seconds[name] = time.process_time() - started
        return found

    data = timed("read", lambda: [(root / path).read_bytes() for path in paths])
    timed("hash", lambda: [content_key(path, one) for path, one in zip(paths, data, strict=True)])
    analyses = timed("parse", lambda: [analyse(path, one) for path, one in zip(paths, data, strict=True)])
    texts = [_texts(one, analysis) for one, analysis in zip(data, analyses, strict=True)]
    timed("words", lambda: [counted(one) for one in texts])
    counts = timed("tokenise", lambda: [drafter.count(text) for one in texts for text in one])
    return {name: round(sum(counts) / max(spent, 1e-6)) for name, spent in seconds.items()}


def _texts(data: bytes, analysis: FileAnalysis) -> Sequence[str]:
    return [data[unit.start_byte : unit.end_byte].decode("utf-8", "replace") for unit in analysis.units]
