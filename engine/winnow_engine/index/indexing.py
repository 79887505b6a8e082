"""Records of files: as before, from the tables, from the store, or made now and stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from winnow_engine.core import Cancellation
from winnow_engine.index.indexed_file import IndexedFile, Row
from winnow_engine.index.parse_pool import ParsePool
from winnow_engine.index.records import analysed
from winnow_engine.index.stat_cache import Content
from winnow_engine.index.tables import Tables
from winnow_engine.runtime import BackgroundWriter
from winnow_engine.storage.store import Store

NAMESPACE = "units-22"  # count up whenever the units, symbols or words of an unchanged file would change
_MOST_WAITING = 100  # records that wait to be stored

Taker = Callable[[IndexedFile], None]


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Resources for reading: `begin` gets the number and bytes of new files, and may return a taker of each."""

    parse_pool: ParsePool = field(default_factory=lambda: ParsePool(0))
    begin: Callable[[int, int], Taker | None] = lambda count, size: None


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that counts, as it is now."""

    path: str
    local_path: str
    content: Content


def indexed(
    found: Sequence[FoundFile],
    before: Sequence[IndexedFile],
    tables: Tables | None,
    store: Store,
    cancellation: Cancellation,
    context: ReadContext,
) -> tuple[IndexedFile, ...]:
    """The files with their records; `before` are those of an earlier reading."""
    earlier = {file.path: file for file in before}
    same = [_same(one, earlier.get(one.path), tables) for one in found]
    new = [one for one, file in zip(found, same, strict=True) if file is None]
    made = iter(list(_new(new, store, cancellation, context)))  # all of them, so that it stores them now
    return tuple(file or next(made) for file in same)


def _same(now: FoundFile, earlier: IndexedFile | None, tables: Tables | None) -> IndexedFile | None:
    if earlier is not None and earlier.key == now.content.key and earlier.local_path == now.local_path:
        return earlier if earlier.content is now.content else replace(earlier, content=now.content)
    row = tables.row_of.get(now.path) if tables is not None else None
    if tables is None or row is None or tables.keys[row] != now.content.key:
        return None
    return IndexedFile(now.path, now.local_path, now.content, Row(tables, row))


def _new(
    files: Sequence[FoundFile], store: Store, cancellation: Cancellation, context: ReadContext
) -> Iterator[IndexedFile]:
    stored = store.get(NAMESPACE, [one.content.key for one in files])
    missing = {one.content.key: one for one in files if one.content.key not in stored}
    if missing:
        store.check_writable()
    size = sum(one.content.size for one in missing.values())
    taker = context.begin(len(missing), size) if missing else None
    texts = ((one.local_path, one.content.read()) for one in missing.values())
    records = context.parse_pool.analysed(texts, size, cancellation)
    with store.writer(NAMESPACE, needed=False) as writer, BackgroundWriter(_MOST_WAITING) as background:
        for one in files:
            cancellation.check()
            key = one.content.key
            new = key not in stored
            if new:
                stored[key] = next(records)
                background.add(partial(writer.put, key, stored[key]))
            file = IndexedFile(one.path, one.local_path, one.content, stored[key])
            if new and taker is not None:
                taker(file)
            yield file


def restore_records(files: Sequence[IndexedFile], store: Store) -> None:
    """Store the records that only the tables still have."""
    there = store.keys(NAMESPACE, [file.key for file in files])
    with store.writer(NAMESPACE) as writer:
        for file in files:
            if file.key not in there:
                writer.put(file.key, analysed(file.local_path, file.content.read()))


def record_names(files: Iterable[IndexedFile]) -> dict[str, list[str]]:
    """Keys of the files' records in the store, by namespace."""
    return {NAMESPACE: [file.key for file in files]}
