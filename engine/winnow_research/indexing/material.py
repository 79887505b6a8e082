"""Folders of a wanted size, of pinned repositories one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from winnow_engine.core import Folder
from winnow_engine.index.workspace import Sources
from winnow_engine.keys.workspace_keys import TOKENS_PER_BYTE
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.repositories import PinnedRepository, SourceFile, Split, repositories
from winnow_research.evaluation.tasks.real import load

ASKED_OF_ANY = ("Where is the configuration read?", "How are errors reported?", "Where does the program start?")


@dataclass(frozen=True, slots=True)
class Material:
    """A folder to index, and questions about it. `edited` is a file that may be changed."""

    root: Path
    questions: tuple[str, ...]
    edited: Path
    """The file of median size: that of an edit which nobody chose."""

    @property
    def sources(self) -> Sources:
        """What is indexed."""
        return Sources((Folder(self.root),))


def written(tokens: int, root: Path) -> Material:
    """Write about so many tokens of code to `root`: the repositories of every split, then copies of them.

    Nothing is judged by what is found in them. EvaluationError if they cannot be fetched.
    """
    room, paths, about = tokens / TOKENS_PER_BYTE, [], dict[str, None]()
    for repository, prefix, file in _files():
        if room <= 0:
            break
        place = root / f"{prefix}{file.path}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)
        paths.append(place)
        about |= dict.fromkeys(one.text for one in load(repository))
        room -= len(file.data)
    return Material(root, tuple(about) or ASKED_OF_ANY, _middle(paths))


def existing(root: Path) -> Material:
    """A folder that is there, of which a file is changed for a while. EvaluationError if it has none."""
    paths = sorted(path for path in root.rglob("*.*") if path.is_file() and ".git" not in path.parts)
    if not paths:
        raise EvaluationError(f"{root} has no file to index")
    return Material(root, ASKED_OF_ANY, _middle(paths))


def _files() -> Iterator[tuple[PinnedRepository, str, SourceFile]]:
    """Every file with its repository and the folder to put it in, without end."""
    for copy in count():
        for split in (Split.DEVELOPMENT, Split.TEST, Split.CALIBRATION):
            for repository in (one for one in repositories(split) if not one.only_real):
                for file in repository.files():
                    yield repository, f"copy{copy}/" if copy else "", file


def _middle(paths: list[Path]) -> Path:
    return sorted(paths, key=lambda path: (path.stat().st_size, path))[len(paths) // 2]
