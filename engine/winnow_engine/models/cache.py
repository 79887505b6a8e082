"""Model files on disk, checked against the registry."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from winnow_engine.errors import ModelDamagedError, ModelError, ModelNotFoundError, UnsupportedModelError
from winnow_engine.models import registry
from winnow_engine.models.gguf_header import GgufHeader, read_header
from winnow_engine.models.names import PREFIX, HubName, is_later_part, parts_of, quantisation, whole_name
from winnow_engine.models.registry import ModelFile, RegisteredModel
from winnow_engine.models.target_table import known_targets, source_of
from winnow_engine.platform import expanded, is_file, user_folder


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
    """The path of a GGUF, or of a model by name. ModelNotFoundError, ModelDamagedError, UnsupportedModelError."""
    if (source := source_of(name_or_file)).startswith(PREFIX):
        return pulled(source, default_directory())[0]
    found = given_file(name_or_file)
    if found is None:
        return path(name_or_file)
    read_header(found)
    return found


def given_file(name_or_file: str) -> Path | None:
    """The path that was given, None for a model's name, which a file of that name never replaces."""
    if source_of(name_or_file).startswith(PREFIX) or any(name_or_file == model.name for model in registry.MODELS):
        return None
    file = expanded(name_or_file)
    return file if name_or_file.endswith(".gguf") or "/" in name_or_file or is_file(file) else None


def pulled(name: str, directory: Path) -> tuple[Path, ...]:
    """The files of a model that was pulled from a hub, without asking it. ModelNotFoundError, ModelDamagedError."""
    wanted = HubName.parse(name)
    try:
        files = _chosen(wanted, directory)
    except ModelNotFoundError as error:
        raise ModelNotFoundError(f"{name} is not in {directory}; run `winnow models pull {name}`") from error
    read_header(files[0])
    return files


def _chosen(wanted: HubName, directory: Path) -> tuple[Path, ...]:
    folder = directory / wanted.repository
    return tuple(folder / file for file in wanted.choose(_ggufs(folder)))


def all_pulled(directory: Path) -> dict[str, tuple[Path, ...]]:
    """The whole models from hubs and other servers that are here, by the name or file that `--target` takes."""
    firsts = [directory / file for file in _ggufs(directory) if "/" in file and not is_later_part(file)]
    whole = [parts for file in firsts if all(map(is_file, parts := parts_of(file)))]
    return {_name(files, directory): files for files in whole}


def pulled_beside_table(directory: Path) -> dict[str, Path]:
    """The first files of `all_pulled`, without targets of the table."""
    known = {target.source.casefold() for target in known_targets()}
    return {name: files[0] for name, files in all_pulled(directory).items() if name.casefold() not in known}


def installed(drafter: str) -> Iterator[tuple[str, Path]]:
    """The chat models here with their names, without the drafter. Instead of the first, ModelNotFoundError."""
    found, drafters = False, set[Path]()
    with suppress(ModelError):
        drafters.add(locate(drafter).resolve())
    for name in (*(target.name for target in known_targets()), *pulled_beside_table(default_directory())):
        with suppress(ModelError):
            if (file := locate(name)).resolve() not in drafters and _chats(read_header(file)):
                found = True
                yield name, file
    if not found:
        raise ModelNotFoundError(
            "no target is installed: run `winnow models pull`, or see what suits this machine: `winnow models suggest`"
        )


def _chats(header: GgufHeader) -> bool:
    """False for models that embed or rerank text, which may have a chat template, too."""
    return "tokenizer.chat_template" in header.values and not header.values.get(f"{header.architecture}.pooling_type")


def _name(files: tuple[Path, ...], directory: Path) -> str:
    """The name of a whole model by its quantisation, or by its file where another model has that name."""
    owner, repository, *path = files[0].relative_to(directory).parts
    for what in (quantisation(path[-1]), whole_name(path[-1])) if path else ():
        with suppress(ModelNotFoundError):
            name = HubName.parse(f"{PREFIX}{owner}/{repository}:{what}")
            if _chosen(name, directory) == files:
                return str(name)
    return str(files[0])


def _ggufs(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.gguf"))


def quick_state(model: ModelFile, directory: Path) -> FileState:
    """The state by size and header: 0.03 s for a large vocabulary, and blind to changed weights."""
    file = directory / model.file
    if not is_file(file):
        return FileState.MISSING
    return FileState.DAMAGED if _fault(model, file) else FileState.OK


def pulled_state(first: Path) -> FileState:
    """The state of a model that was pulled, by its header and the size that follows from it."""
    try:
        read_header(first)
    except ModelDamagedError:
        return FileState.DAMAGED
    except ModelError:  # whole, but no model to run
        pass
    return FileState.OK


def remove(name: str, directory: Path) -> int:
    """Delete a model's files and what a pull received; returns bytes. ModelNotFoundError, OSError."""
    found = [file for file in _files(name, directory) if is_file(file)]
    if not found:
        raise ModelNotFoundError(f"{name} is not in {directory}: name one that `winnow models list` shows")
    size = sum(file.stat().st_size for file in found)
    for file in found:
        file.unlink()
    return size


def _files(name: str, directory: Path) -> Iterator[Path]:
    """A model's files in the folder of models, and their partial ones."""
    given, source = given_file(name), source_of(name)
    if source.startswith(PREFIX):
        wanted = HubName.parse(source)
        try:
            firsts = list(_chosen(wanted, directory))
        except ModelNotFoundError:
            folder = directory / wanted.repository
            begun = {part for file in folder.rglob("*.gguf*") for part in parts_of(_whole(file))}
            firsts = [folder / file for file in wanted.choose(file.relative_to(folder).as_posix() for file in begun)]
    elif given is None:
        firsts = [directory / registry.find(name).file]
    else:
        inside = given.parent.resolve().is_relative_to(directory.resolve())
        firsts = list(parts_of(given)) if inside else []
    for first in firsts:
        yield first
        yield from (file for file in first.parent.glob("*.part") if _whole(file) == first)


def _whole(file: Path) -> Path:
    """The model's file that a partial file or a lock belongs to."""
    return file.with_name(f"{file.name.partition('.gguf')[0]}.gguf")


def part_of(model: ModelFile, directory: Path) -> Path:
    """Where a pull keeps what it has received of a model."""
    version = f".{hashlib.sha256(model.version.encode()).hexdigest()[:8]}" if model.version else ""
    return directory / f"{model.file}{version}.part"


def _fault(model: ModelFile, file: Path) -> str:
    """Fault of a file that is there, by its size and header; empty if there is none."""
    size = file.stat().st_size
    if size != model.bytes:
        return f"has {size:,} bytes instead of {model.bytes:,}"
    if is_later_part(model.file):
        return ""
    try:
        read_header(file)
    except ModelNotFoundError:
        return "cannot be read"
    except (ModelDamagedError, UnsupportedModelError):
        return "is damaged in its header"
    return ""


def verify(directory: Path) -> list[tuple[RegisteredModel, FileState]]:
    """The state of every registered model, by size, header and SHA-256. Reads whole files (about 1 s per GB)."""
    states = {model: quick_state(model, directory) for model in registry.MODELS}
    for model, state in states.items():
        if state is FileState.OK and file_sha256(directory / model.file) != model.sha256:
            states[model] = FileState.DAMAGED
    return list(states.items())


def file_sha256(file: Path) -> str:
    """The file's SHA-256 as hexadecimal digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
