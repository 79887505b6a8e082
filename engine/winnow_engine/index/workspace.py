"""A workspace: its files, and the units of all of them under one numbering.

A workspace has one folder or several. With several, paths begin with the folder's name, as editors show them.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winnow_engine.config import FileRules
from winnow_engine.core import Cancellation, CodeAtCursor, Cursor, Question, Unit, UnitKind
from winnow_engine.errors import PositionError, WorkspaceError
from winnow_engine.index.files import SourceFile, scan
from winnow_engine.index.languages import for_path
from winnow_engine.index.lexical import LexicalIndex, WordCounts
from winnow_engine.index.lines import Lines
from winnow_engine.index.names import SymbolTable
from winnow_engine.index.records import analysis_of, record_of
from winnow_engine.index.remembered import FileMemory
from winnow_engine.index.symbols import FileAnalysis, analyse
from winnow_engine.index.units import enclosing
from winnow_engine.store import Record, Store, Writer

_NAMESPACE = "units-2"  # count up whenever the units or symbols of an unchanged file would change


@dataclass(frozen=True, slots=True)
class Folder:
    """A root directory. Its files' workspace paths begin with `name/`; a workspace's only folder has no name."""

    root: Path
    name: str = ""

    def workspace_path(self, relative: str) -> str:
        """The workspace path of a file of this folder, given relative to its root."""
        return f"{self.name}/{relative}" if self.name else relative

    def relative(self, path: str) -> str | None:
        """The path within this folder's root of a workspace path; None if it is another folder's."""
        prefix = f"{self.name}/" if self.name else ""
        return path.removeprefix(prefix) if path.startswith(prefix) else None


@dataclass(frozen=True, slots=True)
class Sources:
    """What a workspace is read from: folders, the user's rules, and the documents open in editors by workspace path."""

    folders: tuple[Folder, ...]
    rules: FileRules = field(default_factory=FileRules)
    open_documents: Mapping[str, bytes] = field(default_factory=dict)

    def scan(self, cancellation: Cancellation, memory: FileMemory | None = None) -> Iterator[tuple[Folder, SourceFile]]:
        """The files that count with their folders, in path order. A file under two folders counts for the inner one.

        Files that `memory` has and that did not change are not read. Raises WorkspaceError if a folder is not a
        readable directory, CancelledError.
        """
        for folder in sorted(self.folders, key=lambda folder: folder.name):
            inner = [f.root for f in self.folders if f.root != folder.root and f.root.is_relative_to(folder.root)]
            for source in scan(folder.root, self.rules, None, cancellation.check, self._open_in(folder), memory):
                if not any((folder.root / source.path).is_relative_to(root) for root in inner):
                    yield folder, source

    def _open_in(self, folder: Folder) -> dict[str, bytes]:
        named = ((folder.relative(path), data) for path, data in self.open_documents.items())
        return {relative: data for relative, data in named if relative is not None}


@dataclass(frozen=True)
class IndexedFile:
    """One file with its analysis. `key` names its records in the store.

    The drafter reads `local_path`, the path within the folder, so that adding a folder leaves existing keys valid.
    """

    path: str
    local_path: str
    data: bytes
    key: str
    analysis: FileAnalysis

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units that tile the file."""
        return self.analysis.units

    @cached_property
    def units_key(self) -> str:
        """The name of what is made of the units: of content and of where units end, which depends on the parser too."""
        borders = np.array([unit.end_byte for unit in self.units], np.int64)
        return hashlib.blake2b(self.key.encode() + borders.tobytes(), digest_size=20).hexdigest()

    @cached_property
    def lines(self) -> Lines:
        """The file's line table."""
        return Lines(self.data)

    @cached_property
    def words(self) -> WordCounts:
        """The words of each unit."""
        return WordCounts(self.text_of(unit) for unit in self.units)

    def text(self, start_byte: int, end_byte: int) -> str:
        """Part of the file as text; bytes that are not UTF-8 become U+FFFD."""
        return self.data[start_byte:end_byte].decode("utf-8", "replace")

    def text_of(self, unit: Unit) -> str:
        """A unit's text."""
        return self.text(unit.start_byte, unit.end_byte)

    def text_of_lines(self, start_line: int, end_line: int) -> str:
        """The text of some lines, 1-based and inclusive."""
        return self.text(*self.lines.span(start_line, end_line))

    def check_line(self, line: int) -> None:
        """Raise PositionError if there is no such line."""
        if not 1 <= line <= self.lines.count:
            raise PositionError(f"{self.path} has {self.lines.count} lines; there is no line {line}")


@dataclass(frozen=True)
class Workspace:
    """The files of all folders, in path order. Units are numbered through: file by file, in file order.

    `memory` is for the next reading.
    """

    files: tuple[IndexedFile, ...]
    memory: FileMemory = field(default_factory=FileMemory, compare=False, repr=False)

    @cached_property
    def unit_starts(self) -> NDArray[np.int64]:
        """int64 [F+1]: file f has the units unit_starts[f]:unit_starts[f+1]."""
        return np.cumsum([0, *(len(file.units) for file in self.files)])

    @cached_property
    def units(self) -> tuple[tuple[IndexedFile, Unit], ...]:
        """Every unit with its file, by number."""
        return tuple((file, unit) for file in self.files for unit in file.units)

    @cached_property
    def unit_bytes(self) -> NDArray[np.int64]:
        """The size of every unit, int64 [U]."""
        return np.array([unit.end_byte - unit.start_byte for _, unit in self.units], np.int64)

    @cached_property
    def unit_kinds(self) -> NDArray[np.int8]:
        """What every unit is, as its place in UnitKind, int8 [U]."""
        numbers = {kind: number for number, kind in enumerate(UnitKind)}
        return np.array([numbers[unit.kind] for _, unit in self.units], np.int8)

    @cached_property
    def lexical(self) -> LexicalIndex:
        """The words of all units."""
        return LexicalIndex([file.words for file in self.files])

    @cached_property
    def titles(self) -> LexicalIndex:
        """The words of all units' names."""
        return LexicalIndex([WordCounts(unit.name for _, unit in self.units)])

    @cached_property
    def paths(self) -> LexicalIndex:
        """The words of all files' paths."""
        return LexicalIndex([WordCounts(file.path for file in self.files)])

    @cached_property
    def symbols(self) -> SymbolTable:
        """The names all units define and use."""
        files = [file.analysis.symbols for file in self.files]
        definitions = self._numbered([symbols.definitions for symbols in files])
        references = self._numbered([symbols.references for symbols in files])
        return SymbolTable(definitions, references, len(self.units))

    def record_names(self) -> dict[str, list[str]]:
        """The names of the files' records in the store, by namespace."""
        return {_NAMESPACE: [file.key for file in self.files]}

    def by_unit(self, of_files: NDArray[np.float32]) -> NDArray[np.float32]:
        """Values of files, float32 [F], repeated for each of their units, float32 [U]."""
        return np.repeat(of_files, np.diff(self.unit_starts))

    def names_defined_at(self, cursor: Cursor) -> set[str]:
        """The names that the units at the cursor define."""
        number, at = self.file_number(cursor.path), self.units_at(cursor.path, cursor.start_line, cursor.end_line)
        start = int(self.unit_starts[number])
        return {name for name, unit in self.files[number].analysis.symbols.definitions if start + unit in at}

    def file_number(self, path: str) -> int:
        """The place of `path` among the files; PositionError if it is not one of them."""
        for number, file in enumerate(self.files):
            if file.path == path:
                return number
        raise PositionError(f"{path} is not among the workspace's files; `winnow index --explain {path}` says why")

    def unit_at(self, path: str, line: int) -> int:
        """The number of the unit that holds a line. PositionError if there is no such file or line."""
        number = self.file_number(path)
        self.files[number].check_line(line)
        return int(self.unit_starts[number]) + enclosing(self.files[number].units, line)

    def units_at(self, path: str, start_line: int, end_line: int) -> range:
        """The numbers of the units that hold some lines. PositionError if there is no such file or line."""
        return range(self.unit_at(path, start_line), self.unit_at(path, end_line) + 1)

    def units_in(self, paths: Iterable[str]) -> NDArray[np.int64]:
        """The numbers of the units of some files and folders, int64 [N]. PositionError if one of them has no file."""
        found = set[int]()
        for path in paths:
            folder = f"{path.strip('/')}/".removeprefix("./")
            inside = {n for n, file in enumerate(self.files) if f"{file.path}/".startswith(folder)}
            if not inside:
                raise PositionError(f"no file of the workspace is {path} or lies in it")
            found |= inside
        starts = self.unit_starts
        return np.concatenate([np.arange(starts[n], starts[n + 1]) for n in sorted(found)] or [np.empty(0, np.int64)])

    def settled(self, cursor: Cursor) -> Cursor:
        """The cursor on lines that exist: editors also put it on the empty line after a file's last line end."""
        file = self.files[self.file_number(cursor.path)]
        beyond = file.lines.count + 1 if file.data.endswith((b"\n", b"\r")) else 0
        start, end = (line - 1 if line == beyond else line for line in (cursor.start_line, cursor.end_line))
        return replace(cursor, start_line=start, end_line=end)

    def located(self, question: Question) -> Question:
        """The question with its cursor on lines that exist, and with the code there.

        Raises PositionError if the cursor, or one of the paths, is nowhere in the workspace.
        """
        self.units_in(question.paths)
        if question.cursor is None:
            return question
        cursor = self.settled(question.cursor)
        return replace(question, cursor=cursor, code=self.code_at(cursor))

    def code_at(self, cursor: Cursor) -> CodeAtCursor:
        """The selected lines, or for a single line the whole unit around it. PositionError if there is no such line."""
        file = self.files[self.file_number(cursor.path)]
        for line in (cursor.start_line, cursor.end_line):
            file.check_line(line)
        if cursor.start_line < cursor.end_line:
            text = file.text_of_lines(cursor.start_line, cursor.end_line)
        else:
            text = file.text_of(file.units[enclosing(file.units, cursor.start_line)])
        language = for_path(cursor.path)
        return CodeAtCursor(text, language.name if language else "")

    def _numbered(self, symbols: Sequence[Sequence[tuple[str, int]]]) -> Iterator[tuple[str, int]]:
        """Each file's names with their units, numbered through."""
        for start, names in zip(self.unit_starts.tolist(), symbols, strict=False):
            for name, unit in names:
                yield name, start + unit


def read_workspace(
    sources: Sources, store: Store, cancellation: Cancellation, before: Workspace | None = None
) -> Workspace:
    """Read all files that count. One that has not changed is not parsed: its analysis is in `before`, or in `store`.

    If nothing changed, `before`, an earlier reading, is returned, with everything that was computed from it.
    Raises WorkspaceError if there is no file or a folder cannot be read, CancelledError.
    """
    before = before or Workspace(())
    earlier = {file.path: file for file in before.files}
    with before.memory.reading():
        found = [(*one, _same(earlier, *one)) for one in sources.scan(cancellation, before.memory)]
    stored = store.get(_NAMESPACE, [source.key for _, source, file in found if file is None])
    files = []
    with store.writer(_NAMESPACE) as writer:
        for folder, source, file in found:
            cancellation.check()
            files.append(file or _read(folder, source, stored, writer))
    if not files:
        roots = ", ".join(str(folder.root) for folder in sources.folders)
        raise WorkspaceError(f"no file in {roots} counts; `winnow index --explain PATH` says why a file is left out")
    unchanged = len(files) == len(before.files) and all(map(operator.is_, files, before.files))
    return before if unchanged else Workspace(tuple(files), before.memory)


def _same(earlier: Mapping[str, IndexedFile], folder: Folder, source: SourceFile) -> IndexedFile | None:
    """The file as it was read before, if nothing of it changed."""
    file = earlier.get(folder.workspace_path(source.path))
    return file if file and file.local_path == source.path and file.data == source.data else None


def _read(folder: Folder, source: SourceFile, stored: Mapping[str, Record], writer: Writer) -> IndexedFile:
    """A file with its analysis, which is stored if it is new."""
    key = source.key
    if key in stored:
        analysis = analysis_of(stored[key])
    else:
        analysis = analyse(source.path, source.data)
        writer.put(key, record_of(analysis))
    return IndexedFile(folder.workspace_path(source.path), source.path, source.data, key, analysis)
