"""Where model files lie on disk, and whether they are what the registry says."""

from __future__ import annotations

import hashlib
import os
from enum import StrEnum
from pathlib import Path

import platformdirs

from winnow_engine.core import Cancellation
from winnow_engine.errors import ModelDamagedError, ModelNotFoundError, UnsupportedModelError
from winnow_engine.models import registry
from winnow_engine.models.gguf_header import read_header
from winnow_engine.models.registry import RegisteredModel

_HASH_BLOCK = 4 << 20


class FileState(StrEnum):
    """What is in the cache for a model."""

    OK = "ok"
    MISSING = "missing"
    DAMAGED = "damaged"


def default_directory() -> Path:
    """`$WINNOW_MODELS_DIR`, or `models` in the platform's cache directory for Winnow."""
    override = os.environ.get("WINNOW_MODELS_DIR")
    return Path(override).expanduser() if override else Path(platformdirs.user_cache_dir("winnow")) / "models"


def path(name: str, directory: Path | None = None) -> Path:
    """The file of the model called `name`, whose size is checked and whose hash is not.

    Raises ModelNotFoundError when the name is unknown or the file is not there, ModelDamagedError when it has
    the wrong size.
    """
    model = registry.find(name)
    file = (directory or default_directory()) / model.file
    remedy = f"run `winnow models pull {name}`"
    match quick_state(model, file.parent):
        case FileState.MISSING:
            raise ModelNotFoundError(f"{name} is not at {file}; {remedy}")
        case FileState.DAMAGED:
            size = file.stat().st_size
            raise ModelDamagedError(f"{file} has {size:,} bytes instead of {model.bytes:,}; {remedy}")
        case FileState.OK:
            return file


def registered(name: str) -> Path:
    """The file of the model called `name`, whole by its header. Raises what `path` does.

    A file of the right size whose header cannot be read is damaged. A pull would take it for the model.
    """
    found = path(name)
    try:
        read_header(found)
    except (ModelDamagedError, UnsupportedModelError) as error:
        remedy = f"delete it and run `winnow models pull {name}`"
        raise ModelDamagedError(f"{found} is damaged in its header; {remedy}") from error
    return found


def locate(name_or_file: str) -> Path:
    """A GGUF's path as given, or the file of a registered model, whole by its header.

    Raises ModelNotFoundError, which says how to get it, ModelDamagedError or, for a path, UnsupportedModelError.
    """
    given = name_or_file.endswith(".gguf") or "/" in name_or_file or Path(name_or_file).is_file()
    if not given:
        return registered(name_or_file)
    found = Path(name_or_file).expanduser()
    read_header(found)
    return found


def quick_state(model: RegisteredModel, directory: Path) -> FileState:
    """The state by size alone: instant, and blind to changed bytes."""
    file = directory / model.file
    if not file.is_file():
        return FileState.MISSING
    return FileState.OK if file.stat().st_size == model.bytes else FileState.DAMAGED


def verify(
    directory: Path | None = None, cancellation: Cancellation | None = None
) -> list[tuple[RegisteredModel, FileState]]:
    """The state of every registered model, by size and SHA-256. Reads whole files (about 1 s per GB)."""
    directory = directory or default_directory()
    return [(model, _full_state(model, directory, cancellation or Cancellation())) for model in registry.MODELS]


def _full_state(model: RegisteredModel, directory: Path, cancellation: Cancellation) -> FileState:
    state = quick_state(model, directory)
    if state is FileState.OK and file_sha256(directory / model.file, cancellation) != model.sha256:
        return FileState.DAMAGED
    return state


def file_sha256(file: Path, cancellation: Cancellation) -> str:
    """The file's SHA-256 as hexadecimal digits; raises CancelledError between blocks."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(_HASH_BLOCK):
            cancellation.check()
            digest.update(block)
    return digest.hexdigest()
