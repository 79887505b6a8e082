"""Names of models that are not registered: `hf:OWNER/REPO[:QUANT]` on a model hub, and files in several parts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from winnow_engine.errors import DownloadError, ModelNotFoundError

PREFIX = "hf:"
_PART = re.compile(r"-(\d{5})-of-(\d{5})(?=\.gguf$)")
_QUANTISATION = re.compile(r"(?:^|[-._])((?:UD-)?(?:I?Q\d\w*|MXFP4\w*|TQ\d\w*|BF16|F16|F32))(?=[-.]|$)", re.IGNORECASE)
# What people take if they do not say: the order in which llama.cpp's own tools look.
_USUAL = ("Q4_K_M", "MXFP4", "Q8_0")
_OTHER_FILES = ("mmproj", "imatrix")


@dataclass(frozen=True, slots=True)
class HubName:
    """A model on a hub: `repository` is OWNER/REPO, `quantisation` what its file's name has, or None for the usual."""

    repository: str
    quantisation: str | None = None

    @classmethod
    def parse(cls, text: str) -> HubName:
        """Read a name. ModelNotFoundError if it has another form."""
        found = re.fullmatch(r"hf:([\w.-]+/[\w.-]+)(?::([\w.-]+))?", text)
        if found is None or any(set(part) <= {"."} for part in found[1].split("/")):
            raise ModelNotFoundError(f"{text} is no model on a hub: write hf:OWNER/REPO or hf:OWNER/REPO:QUANT")
        return cls(found[1], found[2])

    def __str__(self) -> str:
        return f"{PREFIX}{self.repository}" + (f":{self.quantisation}" if self.quantisation else "")

    def choose(self, files: Iterable[str]) -> tuple[str, ...]:
        """Of a repository's files those that make up the model, in order. ModelNotFoundError lists what there is."""
        models = _models(files)
        wanted = (self.quantisation,) if self.quantisation else _USUAL
        fitting = [name for one in wanted for name in sorted(sorted(models), key=len) if _is(name, one)]
        if not fitting and not self.quantisation and len(models) == 1:
            fitting = list(models)
        if not fitting:
            known = ", ".join(sorted(filter(None, map(quantisation, models)))) or "no GGUF file"
            raise ModelNotFoundError(f"{self} is not there. hf:{self.repository} has: {known}")
        return tuple(sorted(models[fitting[0]]))


def quantisation(file: str) -> str:
    """The quantisation in a file's name, or that name."""
    found = _QUANTISATION.findall(whole_name(file))
    return str(found[-1]) if found else whole_name(file)


def whole_name(file: str) -> str:
    """The name of a model's file without its ending, or the number of a part."""
    return PurePosixPath(_PART.sub("", file)).name.removesuffix(".gguf")


def _is(name: str, wanted: str) -> bool:
    """True if a model's file has that quantisation, or is that file."""
    found, wanted = quantisation(name).upper(), wanted.upper()
    return wanted in (found, found.removeprefix("UD-")) or whole_name(name).upper() == wanted


def _models(files: Iterable[str]) -> dict[str, list[str]]:
    """The parts of each whole GGUF language model, as few as there are, by its name without the part's number."""
    found: dict[tuple[int, str], list[str]] = {}
    for file in files:
        if file.endswith(".gguf") and not PurePosixPath(file).name.lower().startswith(_OTHER_FILES):
            found.setdefault((part_count(file), _PART.sub("", file)), []).append(file)
    return {name: parts for (count, name), parts in sorted(found.items(), reverse=True) if len(parts) == count}


def part_count(file: str) -> int:
    """The number of files that a model is split into, by the name of one."""
    found = _PART.search(file)
    return int(found[2]) if found else 1


def is_later_part(file: str) -> bool:
    """True if a file is a part without the model's metadata."""
    found = _PART.search(file)
    return found is not None and int(found[1]) > 1


def parts_of(first: Path) -> tuple[Path, ...]:
    """The files of a model in the order of their numbers, from the first one's name."""
    count = part_count(first.name)
    if count == 1:
        return (first,)
    return tuple(first.with_name(_PART.sub(f"-{n:05}-of-{count:05}", first.name)) for n in range(1, count + 1))


def checked_path(file: str) -> str:
    """A file's path as a server tells it. DownloadError if it could leave its folder or is hidden in it."""
    parts = file.split("/")
    if not file.isprintable() or any(not part or part[0] in ".~" or re.search(r'[\\:*?"<>|]', part) for part in parts):
        raise DownloadError(f"{file!r} is no name for a model's file: it could be written to another folder")
    return file
