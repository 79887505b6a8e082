"""A workspace too large to be indexed here: a smaller one again and again, its keys repeated with noise."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, ignore_progress
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.records import analysed
from winnow_engine.index.stat_cache import Content
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.workspace_keys import KeyPart, WorkspaceKeys
from winnow_engine.question import Question
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import read_fusion_weights
from winnow_engine.selection.ranking import Ranked
from winnow_engine.selection.two_levels import search
from winnow_engine.storage.store import Store
from winnow_research.first_token.memory import watched
from winnow_research.indexing.material import Material
from winnow_research.machine import median

_SCALES = "scales"
_NOISE = 0.02  # of a vector of length 1, in each direction


def simulated(
    drafter: Drafter, material: Material, tokens: int, folder: Path, repetitions: int, cancellation: Cancellation
) -> dict[str, Any]:
    """The seconds of questions about about `tokens` tokens; reading, hashing and the disk have no part in them."""
    with (
        closing(Store(folder / "index.sqlite")) as store,
        closing(Assistant(store, lambda: drafter)) as assistant,
        watched() as peak,
    ):
        small = assistant.index(material.sources, cancellation=cancellation)
        keys = assistant.keys.wait_for(cancellation).of(small, ignore_progress, cancellation)
        copies = max(1, round(tokens / keys.tokens))
        large, many = repeated_files(small, copies), repeated_keys(keys, copies)
        first, *seconds = [
            _asked(drafter, large, many, text, cancellation) for text in (material.questions * 2)[: 1 + repetitions]
        ]
    return {
        "tokens": many.tokens,
        "copies": copies,
        "units": len(large.units),
        "first_question_s": round(first, 4),
        "question_s": median(seconds, 4),
        "seconds": [round(one, 4) for one in seconds],
        "memory": {"peak_bytes": peak.anonymous, "device_bytes": peak.device},
    }


def repeated_files(workspace: Workspace, copies: int) -> Workspace:
    """The files again and again, each copy in a folder of its own."""
    records = [(file.path, file.data, analysed(file.local_path, file.data)) for file in workspace.files]
    files = [
        IndexedFile(f"{number:04}/{path}", f"{number:04}/{path}", Content.of(f"{number:04}/{path}", data), record)
        for number in range(copies)
        for path, data, record in records
    ]
    return Workspace(tuple(files))


def repeated_keys(keys: WorkspaceKeys, copies: int, seed: int = 0) -> WorkspaceKeys:
    """The keys of all units again and again, with noise in all copies but the first."""
    random, one = np.random.default_rng(seed), keys.joined
    arrays = {
        name: np.concatenate([rows, *(_noisy(name, rows, random) for _ in range(copies - 1))])
        for name, rows in one.arrays.items()
    }
    tokens = np.tile(keys.unit_tokens, copies)
    offsets = np.cumsum(np.concatenate([[0], np.tile(np.diff(one.offsets), copies)]))
    return WorkspaceKeys(tokens, (KeyPart(np.arange(len(tokens)), offsets, arrays),), missing_tokens=0)


def _noisy(name: str, rows: NDArray[Any], random: np.random.Generator) -> NDArray[Any]:
    """Integer codes moved by at most one; vectors moved a little and as long as before; scales as they are."""
    if rows.dtype == np.int8:
        moved = rows.astype(np.int16) + random.integers(-1, 2, rows.shape, np.int8)
        return np.asarray(np.clip(moved, -127, 127), np.int8)
    if rows.ndim != 2 or name == _SCALES:
        return rows
    vectors = rows.astype(np.float32)
    shifted = vectors + np.float32(_NOISE) * random.standard_normal(rows.shape, np.float32)
    before, after = (np.linalg.norm(one, axis=1, keepdims=True) for one in (vectors, shifted))
    return np.asarray(shifted * (before / np.maximum(after, 1e-9)), rows.dtype)


def _asked(drafter: Drafter, workspace: Workspace, keys: WorkspaceKeys, text: str, cancellation: Cancellation) -> float:
    """Seconds from a question to the spans that are kept."""
    started, question = time.perf_counter(), Question(text)
    asked = search(workspace, keys, drafter, question, cancellation)
    scores = fuse(asked, read_fusion_weights(drafter.fusion))
    ranked = Ranked(question, workspace, keys, keys.unit_tokens, scores, drafter)
    ranked.select(ranked.tokens(Budget(2600)))
    return time.perf_counter() - started
