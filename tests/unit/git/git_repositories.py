"""Makes git repositories for tests, with the git program as anybody would call it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from winnow_engine.core import Folder
from winnow_engine.index.workspace import Sources

ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(top: Path, *arguments: str | bytes, stdin: bytes = b"") -> bytes:
    """What git prints. Raises CalledProcessError."""
    environment = os.environ | ENVIRONMENT
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(command, cwd=top, input=stdin, capture_output=True, env=environment, check=True)
    return done.stdout


def new(top: Path, *options: str) -> Path:
    """A repository without commits, on the branch `main`."""
    top.mkdir(parents=True, exist_ok=True)
    git(top, "init", "--quiet", "--initial-branch=main", *options)
    return top


def write(top: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their paths, with the folders they need."""
    for path, content in files.items():
        place = Path(os.fsdecode(os.fsencode(top / path)))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


def commit(top: Path, message: str | bytes, files: Mapping[str, str | bytes] | None = None) -> str:
    """Write files, commit all there is, and return the commit's object id."""
    write(top, files or {})
    git(top, "add", "--all")
    options = ("--quiet", "--allow-empty", "--allow-empty-message", "--no-verify", "-F", "-")
    git(top, "commit", *options, stdin=message if isinstance(message, bytes) else message.encode())
    return head(top)


def head(top: Path) -> str:
    """The object id of the commit that is checked out."""
    return git(top, "rev-parse", "HEAD").decode().strip()


def sources_of(*roots: Path, **open_documents: bytes) -> Sources:
    """One folder without a name, or several that are called as they are on disk."""
    folders = tuple(Folder(root, root.name if len(roots) > 1 else "") for root in roots)
    return Sources(folders, open_documents=open_documents)
