"""A workspace: files of one folder, or several, whose names begin paths then; their units under one numbering."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from winnow_engine.config import FileRules
from winnow_engine.core import Cancellation, Citation, Folder
from winnow_engine.errors import FileChangedError, PositionError, WorkspaceError
from winnow_engine.git.repository import top_above
from winnow_engine.index import name_rules
from winnow_engine.index.bm25 import LexicalIndex
from winnow_engine.index.file_table import FileTable
from winnow_engine.index.files import look
from winnow_engine.index.indexed_file import IndexedFile, Row, Units
from winnow_engine.index.indexing import NAMESPACE, FoundFile, ReadContext, indexed
from winnow_engine.index.names import Spellings, SymbolTable
from winnow_engine.index.postings import NO_PLACE, Places
from winnow_engine.index.records import unit_bytes
from winnow_engine.index.stat_cache import StatCache
from winnow_engine.index.tables import Tables, TableSlice, placed, placed_files, table_slice
from winnow_engine.index.units import enclosing
from winnow_engine.index.workspace_cache import WorkspaceCache
from winnow_engine.question import WHY, CodeAtCursor, Cursor, Question
from winnow_engine.storage.store import Store

T = TypeVar("T")
_MOST_TRIES, _BETWEEN_TRIES_S = 50, 0.1
_FEW_UNITS, _FEW_SHARE = 200, 0.02  # that are new or gone, before tables are written anew
_MOST_ALIKE = 3  # paths that an error names
_LEAST_COPIED = 0.4  # of the names of a folder, for it to have copies: `const a_js_1 = require("./a.js")` adds others


@dataclass(frozen=True, slots=True)
class Sources:
    """Folders, the user's rules, and the documents open in editors by workspace path."""

    folders: tuple[Folder, ...]
    rules: FileRules = field(default_factory=FileRules)
    open_documents: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Everything but open documents that decides which files there are."""
        folders = sorted((folder.name, str(folder.root.resolve())) for folder in self.folders)
        return repr((folders, self.rules))

    def look(self, cancellation: Cancellation, stats: StatCache) -> Iterator[FoundFile]:
        """Files that count, in path order, each under the inner one of two folders. Raises WorkspaceError."""
        for folder in sorted(self.folders, key=lambda folder: folder.name):
            inner = [f.root for f in self.folders if f.root != folder.root and f.root.is_relative_to(folder.root)]
            for path, content in look(folder.root, self.rules, None, cancellation.check, self._open_in(folder), stats):
                if not inner or not any((folder.root / path).is_relative_to(root) for root in inner):
                    yield FoundFile(folder.workspace_path(path), path, content)

    def refuse_bare(self, files: Iterable[IndexedFile]) -> None:
        """Raise WorkspaceError if each folder is a bare repository and no file is in a working tree below one."""
        roots = [folder.root.resolve() for folder in self.folders if name_rules.is_bare(folder.root)]
        trees = filter(None, (top_above(Path(file.content.place)) for file in files))
        if len(roots) == len(self.folders) and not any(tree.is_relative_to(root) for tree in trees for root in roots):
            raise WorkspaceError(
                f"{self.folders[0].root} is a bare repository and has no checked-out files: clone it, or run `git "
                "worktree add FOLDER` there, and name that folder; `winnow when` and `--changes A..B` work without"
            )

    def _open_in(self, folder: Folder) -> dict[str, bytes]:
        named = ((folder.relative(path), data) for path, data in self.open_documents.items())
        return {relative: data for relative, data in named if relative is not None}


@dataclass(frozen=True)
class Workspace:
    """Files of all folders, in path order, with units numbered through. Most files are rows of `base`, older tables."""

    files: tuple[IndexedFile, ...]
    stats: StatCache = field(default_factory=StatCache, compare=False, repr=False)
    base: Tables | None = field(default=None, compare=False, repr=False)
    identity: str = field(default="", compare=False, repr=False)

    @cached_property
    def unit_starts(self) -> NDArray[np.int64]:
        """int64 [F+1]: file f has the units unit_starts[f]:unit_starts[f+1]."""
        return np.cumsum([0, *(file.unit_count for file in self.files)], dtype=np.int64)

    @cached_property
    def units(self) -> Units:
        """Every unit with its file, by number."""
        return Units(self.files, self.unit_starts)

    @cached_property
    def slices(self) -> tuple[TableSlice, ...]:
        """Tables of which the workspace consists: `base`, and one of the files that are new since."""
        base, places = self.base, range(len(self.files))
        rows = {n: file.entry.number for n, file in enumerate(self.files) if isinstance(file.entry, Row)}
        new = [n for n in places if n not in rows]
        tables = Tables.of([(self.files[n].path, self.files[n].key, self.files[n].entry) for n in new])  # type: ignore[misc]
        found = [table_slice(tables, np.array(new, np.int64), self.unit_starts)] if new or base is None else []
        if base is not None:
            numbers = np.full(len(base.starts) - 1, NO_PLACE, np.int64)
            numbers[list(rows.values())] = list(rows)
            found.insert(0, table_slice(base, numbers, self.unit_starts))
        return tuple(found)

    @cached_property
    def units_keys(self) -> tuple[str, ...]:
        """Key of each file's units."""
        return tuple(file.units_key for file in self.files)

    @cached_property
    def unit_bytes(self) -> NDArray[np.int64]:
        """The size of every unit, int64 [U]."""
        return unit_bytes(placed(self.slices, "units"))

    @cached_property
    def unit_kinds(self) -> NDArray[np.int8]:
        """Kind of every unit, as its place in UnitKind, int8 [U]."""
        return placed(self.slices, "units")[:, 0].astype(np.int8)

    @cached_property
    def have_headers(self) -> NDArray[np.bool_]:
        """Mask of units that stand under a header, such as a class's, bool [U]."""
        return np.asarray(placed(self.slices, "units")[:, 5] >= 0)

    @cached_property
    def file_table(self) -> FileTable:
        """Facts about every file that do not depend on a question."""
        paths, keys = [file.path for file in self.files], [file.key for file in self.files]
        return FileTable(paths, keys, self.unit_starts, self.unit_kinds)

    @cached_property
    def lexical(self) -> LexicalIndex:
        """The words of all units."""
        return LexicalIndex(self._places("words"), placed(self.slices, "lengths"))

    @cached_property
    def titles(self) -> LexicalIndex:
        """The words of all units' names."""
        return LexicalIndex(self._places("titles"), placed(self.slices, "title_lengths"))

    @cached_property
    def paths(self) -> LexicalIndex:
        """The words of all files' paths."""
        places = Places([(one.tables.postings("path_words"), one.files) for one in self.slices])
        return LexicalIndex(places, placed_files(self.slices, "path_lengths"))

    @cached_property
    def symbols(self) -> SymbolTable:
        """The names all units define and use."""
        tables = [one.tables for one in self.slices]
        spellings = Spellings([(one.postings("definitions").terms, one.postings("spellings")) for one in tables])
        return SymbolTable(self._places("definitions"), self._places("references"), spellings, len(self.units))

    @cached_property
    def are_copies(self) -> NDArray[np.bool_]:
        """Mask of stubs and of copies that a build wrote, bool [F]: others define many names of their folders."""
        folders, found = dict[str, int](), map(name_rules.BUILT.search, self.file_table.paths)
        groups = [folders.setdefault(one.string[: one.end()], len(folders)) if one else -1 for one in found]
        copies = np.array(groups) >= 0
        if folders:
            shares = self.symbols.shares_elsewhere(np.repeat(groups, np.diff(self.unit_starts)), len(folders))
            copies[copies] = shares[np.array(groups)[copies]] >= _LEAST_COPIED
        return copies

    @cached_property
    def uses(self) -> NDArray[np.int64]:
        """How many other files use what a unit defines, int64 [U]; none of tests and copies, nor by them."""
        files = np.where(self.file_table.are_tests | self.are_copies, -1, np.arange(len(self.files)))
        return self.symbols.uses(np.repeat(files, np.diff(self.unit_starts)))

    def _places(self, name: str) -> Places:
        return Places([(one.tables.postings(name), one.units) for one in self.slices])

    def by_unit(self, of_files: NDArray[np.float32]) -> NDArray[np.float32]:
        """Values of files, float32 [F], repeated for each of their units, float32 [U]."""
        return np.repeat(of_files, np.diff(self.unit_starts))

    def files_of(self, units: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of each of these units' files, int64 [N]."""
        return np.searchsorted(self.unit_starts, units, side="right") - 1

    def units_of(self, files: Iterable[int]) -> NDArray[np.int64]:
        """The units of some files, file by file, int64 [N]."""
        ranges = (np.arange(*self.unit_starts[number : number + 2]) for number in files)
        return np.concatenate([np.empty(0, np.int64), *ranges])

    def names_at(self, cursor: Cursor) -> tuple[set[str], set[str]]:
        """The names that the units at the cursor define, and those that they use."""
        at = self.units_at(cursor)
        start, symbols = self.unit_starts[self.file_number(cursor.path)], self.file(cursor.path).analysis.symbols
        both = symbols.definitions, symbols.references
        defined, used = ({name for name, unit in names if int(start) + unit in at} for names in both)
        return defined, used

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The place of each path among the files; for letters with accents also of the composed path."""
        numbers = {file.path: number for number, file in enumerate(self.files)}
        return {normalize("NFC", path): number for path, number in numbers.items() if not path.isascii()} | numbers

    def _number(self, path: str) -> int | None:
        return self._numbers.get(path, None if path.isascii() else self._numbers.get(normalize("NFC", path)))

    def file_at(self, path: str) -> IndexedFile | None:
        """The file with this path, if there is one."""
        number = self._number(path)
        return None if number is None else self.files[number]

    def file(self, path: str) -> IndexedFile:
        """The file with this path; PositionError if there is none."""
        return self.files[self.file_number(path)]

    def file_number(self, path: str) -> int:
        """The place of `path` among the files; PositionError if it is not one of them."""
        if (number := self._number(path)) is None:
            raise self.missing(path)
        return number

    def missing(self, path: str) -> PositionError:
        """The error for a path that is no file's, with those of its name."""
        alike = self.ending_with(path.rstrip("/").rpartition("/")[2])[:_MOST_ALIKE]
        reason = f", but {', '.join(alike)}" if alike else f"; `winnow index --explain {path}` says why"
        return PositionError(f"{path} is not among the workspace's files{reason}")

    def ending_with(self, path: str) -> list[str]:
        """The files and folders whose path ends with this one."""
        within, end = [f"/{file.path}/" for file in self.files], f"/{path}/"
        return sorted({one[1 : one.index(end) + len(end) - 1] for one in within if end in one})

    def unit_at(self, path: str, line: int) -> int:
        """The number of the unit that holds a line. PositionError if there is no such file or line."""
        number = self.file_number(path)
        self.files[number].check_line(line)
        return int(self.unit_starts[number]) + enclosing(self.files[number].units, line)

    def units_at(self, lines: Cursor | Citation) -> range:
        """The numbers of the units that hold some lines. PositionError if there is no such file or line."""
        return range(self.unit_at(lines.path, lines.start_line), self.unit_at(lines.path, lines.end_line) + 1)

    def settled(self, cursor: Cursor) -> Cursor:
        """The cursor on lines that exist: editors also put it on the empty line after a file's last line end."""
        file = self.file(cursor.path)
        beyond = file.line_count + 1 if file.data.endswith((b"\n", b"\r")) else 0
        start, end = (line - 1 if line == beyond else line for line in (cursor.start_line, cursor.end_line))
        return replace(cursor, start_line=start, end_line=end)

    def located(self, question: Question) -> Question:
        """The question with its cursor on lines that exist, and with the code there. Raises PositionError."""
        cursor = question.cursor
        if cursor is None or not (self.file_at(cursor.path) or question.is_about_cursor or question.changes == WHY):
            return replace(question, cursor=None)  # an editor has a cursor whatever is asked
        cursor = self.settled(cursor)
        return replace(question, cursor=cursor, code=self.code_at(cursor))

    def code_at(self, cursor: Cursor) -> CodeAtCursor:
        """The selected lines, or for a single line the whole unit around it. PositionError if there is no such line."""
        file, units = self.file(cursor.path), self.units_at(cursor)
        if cursor.start_line < cursor.end_line:
            text = file.text_of_lines(cursor.start_line, cursor.end_line)
        else:
            text = file.text_of(self.units[units[0]][1])
        return CodeAtCursor(text, file.language.name if file.language else "")


def begun_again(work: Callable[[], T], cancellation: Cancellation) -> T:
    """The result of work that reads a workspace, begun again if a file changes meanwhile. Raises CancelledError."""
    for _ in range(_MOST_TRIES - 1):
        try:
            return work()
        except FileChangedError:
            cancellation.check()
            time.sleep(_BETWEEN_TRIES_S)
    return work()


def read_workspace(
    sources: Sources,
    store: Store,
    cancellation: Cancellation,
    before: Workspace | None = None,
    context: ReadContext | None = None,
) -> Workspace:
    """Read all files that count and have changed; the others are in `before`, or on disk.

    If nothing changed, `before` is returned, with all that was computed from it. WorkspaceError if there is no file.
    """
    cache = workspace_cache(sources, store)
    before = _before(cache, before)
    context = context or ReadContext()
    with before.stats.reading():
        found = list(sources.look(cancellation, before.stats))
    files = indexed(found, before.files, before.base, store, cancellation, context)
    if not files:
        roots = ", ".join(str(folder.root) for folder in sources.folders)
        raise WorkspaceError(f"no file in {roots} counts; `winnow index --explain PATH` says why a file is left out")
    if before.stats.worth_saving():
        cache.save_stats(before.stats)
    if len(files) == len(before.files) and all(map(operator.is_, files, before.files)):
        return before
    return _written(Workspace(files, before.stats, before.base, cache.identity), cache)


def workspace_cache(sources: Sources, store: Store) -> WorkspaceCache:
    """The cache of the workspace that these sources make up."""
    return WorkspaceCache(store.workspaces, f"{NAMESPACE} {sources.identity}")


def _before(cache: WorkspaceCache, before: Workspace | None) -> Workspace:
    if before is not None and before.identity == cache.identity:
        return before
    stats = before.stats if before is not None and not before.identity else StatCache()
    if stats.empty:
        cache.load_stats(stats)
    return Workspace((), stats, cache.tables(), cache.identity)


def _written(workspace: Workspace, cache: WorkspaceCache) -> Workspace:
    """The workspace, written as tables anew if much of it is not in those it has."""
    sizes = np.diff(workspace.unit_starts)
    new = sum(int(size) for file, size in zip(workspace.files, sizes, strict=True) if not isinstance(file.entry, Row))
    gone = (len(workspace.base.arrays["units"]) if workspace.base else 0) - (len(workspace.units) - new)
    if new + gone <= max(_FEW_UNITS, _FEW_SHARE * len(workspace.units)):
        return workspace
    tables = cache.save_tables(Tables.joined(workspace.slices))
    files = (replace(file, entry=Row(tables, number)) for number, file in enumerate(workspace.files))
    return Workspace(tuple(files), workspace.stats, tables, workspace.identity)
