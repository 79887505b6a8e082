"""Drafts installed with `winnow-weights-draft`, for targets of the registry: a folder each, named after the target.

    draft.safetensors    all that was trained, quantised, without the output matrix, which is the target's
    draft.json           its SHA-256
    card.md              for people: base, data, recipe, figures, licence

llama.cpp needs a GGUF with that matrix. It is put together from draft and target, into the cache, when the target is
first opened.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
from gguf.constants import GGMLQuantizationType
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from winnow_engine.errors import DraftError
from winnow_engine.llama.stored_rows import unpacked
from winnow_engine.models.registry import MODELS, weight_folders
from winnow_engine.storage.folders import cache_folder, delete, make_folder, used_last_first
from winnow_engine.targets.drafts.block_file import BlockShape, write_block

FILE, ABOUT = "draft.safetensors", "draft.json"
METADATA = "draft"
"""Of the file, JSON: the draft's `shape`, and the `types` of tensors that are stored as in a GGUF."""
TABLES = ("tokens", "fuse", "embedding", "masks", "before", "after")

_KEPT = 2  # drafts in the cache, those made last: another version of Winnow may ship another one
_log = logging.getLogger(__name__)


def draft_of(target: Path) -> Path | None:
    """NAME.draft.gguf beside NAME.gguf, or what ships, made now in 0.7 s or before; None, logged, if neither."""
    beside = target.with_suffix(".draft.gguf")
    if beside.is_file():
        return beside
    folder = _folder_of(target)
    if folder is None:
        return None
    try:
        digest = json.loads((folder / ABOUT).read_text("utf-8"))["sha256"]
        made = _made_here() / f"{digest[:16]}.gguf"
        if not (made.is_file() and made.with_suffix(".safetensors").is_file()):
            make_folder(made.parent, 0o700)
            put_together(folder / FILE, target, made)
            for draft in [path for path, *_ in used_last_first(made.parent) if path.suffix == ".gguf"][_KEPT:]:
                delete(draft)
                delete(draft.with_suffix(".safetensors"))
    except (OSError, SafetensorError, DraftError) as error:
        _log.warning("the draft of %s is not used: %s", target.name, error)
        return None
    return made


def discard(draft: Path) -> None:
    """Have a draft that turned out to be damaged made anew the next time. A file that lies beside a target stays."""
    if draft.parent == _made_here():
        delete(draft)


def put_together(shipped: Path, target: Path, out: Path) -> None:
    """Write a draft stored in `shipped` for its target. OSError, SafetensorError, or DraftError if it is none."""
    with safe_open(shipped, framework="numpy") as file:
        metadata: dict[str, str] = file.metadata() or {}
        stored: dict[str, NDArray[Any]] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    try:
        about = json.loads(metadata[METADATA])
        shape = BlockShape(**about["shape"] | {"layers_read": tuple(about["shape"]["layers_read"])})
        types = {name: GGMLQuantizationType(kind) for name, kind in about["types"].items()}
        tables = {name: _plain(stored.pop(name), types.get(name)) for name in TABLES}
    except (KeyError, TypeError, ValueError) as error:
        raise DraftError(f"{shipped} is no draft that ships: {error!r}") from error
    layers = {name: (data, types.get(name, GGMLQuantizationType.F32)) for name, data in stored.items()}
    write_block(out, shape, layers, tables, target)


def _made_here() -> Path:
    return cache_folder() / "drafts"


def _plain(stored: NDArray[Any], kind: GGMLQuantizationType | None) -> NDArray[Any]:
    return stored if kind is None else unpacked(stored.view(np.uint8), kind).astype(np.float16)


def _folder_of(target: Path) -> Path | None:
    folders = {folder.name: folder for folder in weight_folders("draft")}
    for model in MODELS:
        folder = folders.get(model.name)
        if folder is not None and target.name == model.file and target.stat().st_size == model.bytes:
            return folder
    return None
