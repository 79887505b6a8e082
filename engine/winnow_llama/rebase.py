"""Carry the patches over to another version of llama-cpp-python.

    python rebase.py VERSION REPOSITORY

Makes the git repository REPOSITORY of llama.cpp's sources: `pinned` has the version that `build.py` names and a commit
for each patch; on `rebased` these follow the sources of VERSION, merged where lines have moved. Says which patches
broke, and in which files. If none did, the patches in this folder are written anew, less those that llama.cpp has by
now. Otherwise resolve what broke in REPOSITORY with `git cherry-pick`, and run `python rebase.py --write REPOSITORY`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from build import LLAMA
from patches import PatchError, git, series
from wheels import unpack

_FIRST = "llama.cpp of "
_AUTHOR = ("-c", "user.name=Winnow", "-c", "user.email=winnow@localhost")


def main() -> None:
    """Do what the arguments say."""
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]))
        return
    version, repository = sys.argv[1], Path(sys.argv[2])
    repository.mkdir(parents=True)
    must(repository, "init", "--quiet", "--initial-branch=pinned")
    commit_sources(repository, LLAMA.partition("==")[2])
    patches = [commit_patch(repository, patch) for patch in series()]
    must(repository, "checkout", "--quiet", "--orphan", "rebased")
    commit_sources(repository, version)
    broken = [
        f"{patch.name}: {', '.join(files)}"
        for patch, commit in zip(series(), patches, strict=True)
        if (files := list(conflicts(repository, commit)))
    ]
    if broken:
        sys.exit("\n".join([f"{len(broken)} of {len(patches)} patches do not apply to {version}:", *broken]))
    write(repository)
    print(f"{len(series())} patches apply to {version}")


def commit_sources(repository: Path, version: str) -> None:
    """Replace the files by llama.cpp of a version of llama-cpp-python, and commit them."""
    for path in repository.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with tempfile.TemporaryDirectory(prefix="winnow-rebase-") as name:
        unpack(f"llama-cpp-python=={version}", Path(name))
        [sources], without = Path(name).glob("*/vendor/llama.cpp"), shutil.ignore_patterns(".git")
        shutil.copytree(sources, repository, ignore=without, dirs_exist_ok=True)
    commit(repository, _FIRST + version)


def commit_patch(repository: Path, patch: Path) -> str:
    """Commit a patch to the version that it is for. Returns the commit."""
    must(repository, "apply", str(patch))
    commit(repository, patch.read_text("utf-8").partition("\n---\n")[0])
    return must(repository, "rev-parse", "HEAD").strip()


def commit(repository: Path, message: str) -> None:
    """Commit all files, those that llama.cpp ignores too."""
    must(repository, "add", "--all", "--force")
    must(repository, *_AUTHOR, "commit", "--quiet", "--message", message)


def conflicts(repository: Path, commit: str) -> Iterator[str]:
    """Merge a commit into the files that are checked out. Yields the files in which it fails; then it is left out."""
    if git(repository, *_AUTHOR, "cherry-pick", "--keep-redundant-commits", commit).returncode:
        yield from must(repository, "diff", "--name-only", "--diff-filter=U").split()
        must(repository, "cherry-pick", "--abort")


def write(repository: Path) -> None:
    """Write the patches of this folder anew, from the commits that follow the sources in `repository`.

    An empty commit is a patch that the sources have: its file is deleted.
    """
    commits = must(repository, "log", "--reverse", "--format=%H", "HEAD").split()[1:]
    for patch, commit in zip(series(), commits, strict=True):
        message = must(repository, "log", "-1", "--format=%B", commit).strip()
        changes = must(repository, "diff", "--full-index", f"{commit}^", commit)
        if not changes:
            print(f"{patch.name} is in llama.cpp already: dropped")
            patch.unlink()
            continue
        patch.write_text(f"{message}\n---\n{changes}", "utf-8")


def must(repository: Path, *arguments: str) -> str:
    """What git prints. Raises PatchError if it fails."""
    done = git(repository, *arguments)
    if done.returncode:
        raise PatchError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    main()
