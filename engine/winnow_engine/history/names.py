"""The commits that touched what a question names: a file, a definition of today, or else any text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from winnow_engine.git.log import touching_commits
from winnow_engine.git.objects import blobs
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import named_files
from winnow_engine.index.lines import git_numbers
from winnow_engine.index.symbols import analyse

_MOST_FILES = 40  # with the name, that are parsed to find its definition
_MOST_PLACES = 8  # a name of more files or definitions says too little
_SHORTEST_TEXT = 3
_SEPARATOR = re.compile(r"::|[^\w$]+")


class NameSearch:
    """Searches the history of a commit for names, for so many seconds in all."""

    def __init__(self, repository: Repository, tip: str, seconds: float) -> None:
        self._repository, self._tip = repository, tip
        self._until = time.monotonic() + seconds
        self.complete = True
        """Whether no search was stopped before its end."""

    def commits(self, name: str, *, as_text: bool) -> set[str]:
        """The ids of the commits that touched a name.

        It is looked for as a path, then as a definition, which is followed to the lines it had before. If it is
        neither, and may be sought `as_text`, commits count in which it became more or less frequent. Raises GitError,
        CancelledError.
        """
        parts = [part for part in _SEPARATOR.split(name) if part]
        searches = self._paths(name) or self._definitions(parts)
        if not searches and len(parts) > 1:
            searches = self._definitions(parts[-1:])
        if not searches and as_text and parts and len(parts[-1]) >= _SHORTEST_TEXT:
            searches = [(f"-S{parts[-1]}", "--")]
        return {one for search in searches for one in self._found(search)} if len(searches) <= _MOST_PLACES else set()

    def _found(self, search: tuple[str, ...]) -> list[str]:
        found, complete = touching_commits(self._repository, self._tip, search, self._seconds_left())
        self.complete &= complete
        return found

    def _paths(self, name: str) -> list[tuple[str, ...]]:
        """Searches for the files whose paths end with a name that looks like one."""
        if "." not in name and "/" not in name:
            return []
        paths = _fields(self._repository.git.run("ls-tree", "-r", "-z", "--name-only", self._tip))
        return [("--follow", "--", path) for path in paths if path == name or path.endswith(f"/{name}")]

    def _definitions(self, parts: list[str]) -> list[tuple[str, ...]]:
        """Searches for the lines of the units with this name, of which the classes or modules may be left out."""
        return [
            (f"-L{numbers[unit.start_line - 1]},{numbers[unit.end_line - 1]}:{path}",)
            for path, data in self._files_with(parts)
            if (numbers := git_numbers(data))
            for unit in analyse(path, data).units
            if _SEPARATOR.split(unit.name)[-len(parts) :] == parts
        ]

    def _files_with(self, words: list[str]) -> Iterator[tuple[str, bytes]]:
        """Files that contain all of some words, by their paths below the repository's folder, while there is time."""
        if not words:
            return
        git, prefix = self._repository.git, self._repository.prefix
        options = ("-l", "-z", "-w", "-F", "--all-match", *(part for word in words for part in ("-e", word)))
        left = self._seconds_left()
        output, complete = git.partial_output("grep", *options, self._tip, timeout_s=left, highest=1)  # 1: no match
        self.complete &= complete
        paths = [path.removeprefix(f"{self._tip}:") for path in _fields(output)][:_MOST_FILES]
        entries = named_files(self._repository, self._tip, [prefix + path for path in paths])
        contents = blobs(git, [one.blob for one in entries])
        for one in entries:
            git.cancellation.check()
            if not self._seconds_left():
                self.complete = False
                return
            if one.blob in contents:
                yield one.path.removeprefix(prefix), contents[one.blob]

    def _seconds_left(self) -> float:
        return max(self._until - time.monotonic(), 0.0)


def _fields(output: bytes) -> list[str]:
    return [line.decode("utf-8", "surrogateescape") for line in output.split(b"\0") if line]
