"""Where a test of a function goes: to the file of tests that names it, or to a new one called as others are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from winnow_engine.editing.passage import Passage, functions_of, language_of
from winnow_engine.errors import NotApplicableError
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.languages.base import Language
from winnow_engine.index.outline import Definition
from winnow_engine.index.workspace import Workspace

_FOLDERS = {"test", "tests", "spec", "__tests__"}
_FAMILY = {"typescript": "javascript", "tsx": "javascript"}  # languages whose tests may be in each other's files


@dataclass(frozen=True)
class PlaceForTest:
    """Where a test is put: below `example`, a test that is there, else at the end of `file`, or in a new file."""

    path: str
    file: IndexedFile | None
    example: Definition | None = None


def place_for_test(workspace: Workspace, passage: Passage) -> PlaceForTest:
    """Where the test of a function goes. NotApplicableError where there is no such file, nor a name for a new one."""
    language = language_of(passage.file)
    assert language is not None
    files = [file for file in workspace.files if is_test_file(file, language)]
    usual = [name for name, _ in _names(passage.file, language)]
    uses = Counter(workspace.units[number][0].path for number in workspace.symbols.using_name(passage.name))
    named = [file for file in files if uses[file.path] or PurePosixPath(file.path).name in usual]
    if named:
        best = max(
            named, key=lambda file: (uses[file.path] > 0, PurePosixPath(file.path).name in usual, uses[file.path])
        )
        return PlaceForTest(best.path, best, _example(best, passage.name, language.test_mark))
    if not usual:
        raise NotApplicableError(
            f"Winnow does not know how files of tests are called in {language.name}: begin one that names "
            f"{passage.called}, and ask again"
        )
    return PlaceForTest(_new_path(workspace, passage.file, usual[0], files), None)


def is_test_file(file: IndexedFile, language: Language) -> bool:
    """Whether a file holds tests of code in a language: by its name, its folder or a mark in it."""
    own = language_of(file)
    if own is None or _FAMILY.get(own.name, own.name) != _FAMILY.get(language.name, language.name):
        return False
    if own.test_mark and own.test_mark in file.data:
        return True
    path = PurePosixPath(file.path)
    in_folder = bool(_FOLDERS.intersection(path.parts[:-1])) and path.stem != "__init__" and path.stem != "conftest"
    return in_folder or any(re.fullmatch(_pattern(name), path.name) for name in own.test_files)


def _pattern(name: str) -> str:
    return re.escape(name).replace(r"\{\}", ".+")


def _names(file: IndexedFile, language: Language) -> Iterator[tuple[str, str]]:
    """How the file of a source file's tests may be called."""
    stem = PurePosixPath(file.path).stem.lstrip("_")
    for name in language.test_files:
        yield name.format(stem), name


def _example(file: IndexedFile, name: str, mark: bytes) -> Definition | None:
    """The last test that uses a name, else the last one."""
    tests = [one for one in functions_of(file) if not mark or mark in _bytes(file, one)]
    word = re.compile(rb"(?<!\w)%b(?!\w)" % re.escape(name.encode()))
    using = [one for one in tests if word.search(_bytes(file, one))]
    return next(reversed(using or tests), None)


def _bytes(file: IndexedFile, definition: Definition) -> bytes:
    return file.data[slice(*file.lines.span(definition.first, definition.last))]


def _new_path(workspace: Workspace, source: IndexedFile, name: str, tests: Sequence[IndexedFile]) -> str:
    """The path of a new file of tests: beside those of the nearest source files, else where the language has them."""
    folder = PurePosixPath(source.path).parent
    mirrored = source.path.replace("src/main/", "src/test/")
    if mirrored != source.path:
        return str(PurePosixPath(mirrored).with_name(name))
    near = max(tests, key=lambda file: _shared(file.path, source.path), default=None)
    if near is not None:
        return str(PurePosixPath(near.path).with_name(name))
    top = folder if name.startswith(PurePosixPath(source.path).stem) else _root(workspace, source) / "tests"
    return str(top / name)


def _shared(first: str, second: str) -> int:
    """How many folders two paths begin with alike."""
    one, other = PurePosixPath(first).parts[:-1], PurePosixPath(second).parts[:-1]
    same = [a == b for a, b in zip(one, other, strict=False)]
    return same.index(False) if False in same else len(same)


def _root(workspace: Workspace, source: IndexedFile) -> PurePosixPath:
    """The folder that the source file is of: with several, paths begin with the folder's name."""
    prefix = source.path.removesuffix(source.local_path)
    return PurePosixPath(prefix or ".")
