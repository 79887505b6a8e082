"""Model files on disk, checked against the registry."""

from __future__ import annotations

import hashlib
import os
from enum import StrEnum
from pathlib import Path

from winnow_engine.core import Cancellation
from winnow_engine.errors import ModelDamagedError, ModelError, ModelNotFoundError, UnsupportedModelError
from winnow_engine.models import registry
from winnow_engine.models.gguf_header import read_header
from winnow_engine.models.registry import RegisteredModel
from winnow_engine.platform import expanded, is_file, user_folder

_HASH_BLOCK = 4 << 20


class FileState(StrEnum):
    """State of a model's file in the cache."""

    OK = "ok"
    MISSING = "missing"
    DAMAGED = "damaged"


def default_directory() -> Path:
    """`$WINNOW_MODELS_DIR`, or `models` in the user's cache for Winnow. ModelError without either."""
    if override := os.environ.get("WINNOW_MODELS_DIR"):
        return expanded(override)
    if folder := user_folder("cache"):
        return folder / "models"
    raise ModelError("this user has no home folder with models: set WINNOW_MODELS_DIR to their folder, or HOME")


def path(name: str, directory: Path | None = None) -> Path:
    """The file of a registered model, by size and header. ModelNotFoundError or ModelDamagedError."""
    model = registry.find(name)
    file = (directory or default_directory()) / model.file
    remedy = f"run `winnow models pull {name}`"
    if not is_file(file):
        raise ModelNotFoundError(f"{name} is not at {file}; {remedy}")
    if fault := _fault(model, file):
        raise ModelDamagedError(f"{file} {fault}; {remedy}")
    return file


def locate(name_or_file: str) -> Path:
    """A GGUF's path, or a registered model's. ModelNotFoundError, ModelDamagedError, UnsupportedModelError."""
    found = given_file(name_or_file)
    if found is None:
        return path(name_or_file)
    read_header(found)
    return found


def given_file(name_or_file: str) -> Path | None:
    """The path that was given, None for a model's name, which a file of that name never replaces."""
    if any(name_or_file == model.name for model in registry.MODELS):
        return None
    file = expanded(name_or_file)
    return file if name_or_file.endswith(".gguf") or "/" in name_or_file or is_file(file) else None


def quick_state(model: RegisteredModel, directory: Path) -> FileState:
    """The state by size and header: 0.03 s for a large vocabulary, and blind to changed weights."""
    file = directory / model.file
    if not is_file(file):
        return FileState.MISSING
    return FileState.DAMAGED if _fault(model, file) else FileState.OK


def remove(model: RegisteredModel, directory: Path) -> int:
    """Delete a model's file and what a pull received; returns bytes. ModelNotFoundError, OSError."""
    found = [file for file in (directory / model.file, part_of(model, directory)) if is_file(file)]
    if not found:
        raise ModelNotFoundError(f"{model.name} is not in {directory}")
    size = sum(file.stat().st_size for file in found)
    for file in found:
        file.unlink()
    return size


def part_of(model: RegisteredModel, directory: Path) -> Path:
    """Where a pull keeps what it has received of a model."""
    return directory / f"{model.file}.part"


def _fault(model: RegisteredModel, file: Path) -> str:
    """Fault of a file that is there, by its size and header; empty if there is none."""
    size = file.stat().st_size
    if size != model.bytes:
        return f"has {size:,} bytes instead of {model.bytes:,}"
    try:
        read_header(file)
    except ModelNotFoundError:
        return "cannot be read"
    except (ModelDamagedError, UnsupportedModelError):
        return "is damaged in its header"
    return ""


def verify(
    directory: Path | None = None, cancellation: Cancellation | None = None
) -> list[tuple[RegisteredModel, FileState]]:
    """The state of every registered model, by size, header and SHA-256. Reads whole files (about 1 s per GB)."""
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
