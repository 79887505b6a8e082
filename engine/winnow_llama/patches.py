"""Put Winnow's sources and patches into the sources of llama.cpp.

    python patches.py TREE

`TREE` is llama.cpp's folder in llama-cpp-python's source distribution. Nothing is done to one that has them. Needs git,
but no repository.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
# Folders of sources, and where llama.cpp includes them from.
_PLACES = {"cpu": "ggml/src/ggml-cpu/winnow", "cuda": "ggml/src/ggml-cuda/winnow", "context": "src/winnow"}
_DONE = "winnow-patched"


class PatchError(Exception):
    """A patch does not apply; the message names it and the file."""


def series(folder: Path = _HERE / "patches") -> list[Path]:
    """The patches in the order in which they apply."""
    return sorted(folder.glob("*.patch"))


def recipe() -> str:
    """A digest of the files that decide what is built."""
    files = sorted(file for kind in ("*.cmake", "*.h", "*.cuh", "*.patch", "patches.py") for file in _HERE.rglob(kind))
    return hashlib.sha256("".join(file.read_text("utf-8") for file in files).encode()).hexdigest()[:12]


def prepare(tree: Path) -> None:
    """Copy the sources and apply the patches, once. Raises PatchError."""
    if (tree / _DONE).exists():
        return
    for folder, place in _PLACES.items():
        shutil.copytree(_HERE / folder, tree / place, dirs_exist_ok=True)
    for patch in series():
        apply(patch, tree)
    (tree / _DONE).touch()


def apply(patch: Path, tree: Path) -> None:
    """Apply one patch wholly, or raise PatchError and change nothing."""
    for options in (["--check"], []):
        # From above: the distribution has a `.git` there that leads nowhere.
        done = git(tree.parent, "apply", f"--directory={tree.name}", *options, str(patch))
        if done.returncode:
            raise PatchError(f"{patch.name} does not apply to {tree}:\n{done.stderr.strip()}")


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, without a configuration and as if no repository were around it."""
    alone = {
        "GIT_CEILING_DIRECTORIES": str(folder.resolve().parent),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | alone
    try:
        return subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as missing:
        raise PatchError("git is needed to patch llama.cpp: install it") from missing


if __name__ == "__main__":
    try:
        prepare(Path(sys.argv[1]))
    except PatchError as error:
        sys.exit(f"error: {error}")
