"""Keys of a workspace's files: in packs, one by one, in memory, or missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow_engine.encoder.file_encoder import FileKeys
from winnow_engine.encoder.profile import join_arrays
from winnow_engine.index.postings import NO_PLACE
from winnow_engine.index.tables import unit_numbers
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.workspace_keys import KeyBlock, WorkspaceKeys
from winnow_engine.storage.mapped import mark_used
from winnow_engine.storage.packs import Pack, Record
from winnow_engine.storage.store import Store

TOKENS = "unit_tokens"  # the array of a record that has the tokens of each unit, int32 [U]
_LEAST_SHARE = 0.5  # of a pack's tokens that a workspace must have, so that it scores the others along with them
_MOST_PACKS = 16
_LOOSE_TOKENS, _LOOSE_SHARE = 60_000, 0.05  # in no pack, before they get one: 4 MB of an adapter's keys


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """Keys by file number: in packs with their records, in records of their own, and missing."""

    packed: tuple[tuple[Pack, Mapping[int, int]], ...]
    loose: Mapping[int, Record]
    missing: tuple[int, ...]

    def parts(self, workspace: Workspace) -> list[KeyBlock]:
        """The keys in packs."""
        return [_part(workspace, pack, rows) for pack, rows in self.packed]


def locate(store: Store, namespace: str, workspace: Workspace) -> KeyLookup:
    """Find the keys of a workspace's files. Of several packs that have a file's, the best fitting one counts."""
    names = dict(enumerate(workspace.units_keys))
    counts = np.diff(workspace.unit_starts)
    fitting = []
    for pack in store.packs(namespace).all():
        rows = _rows(pack, names, counts)
        share = _tokens(pack, rows.values()) / max(int(pack.arrays[TOKENS].sum(dtype=np.int64)), 1)
        if rows and share >= _LEAST_SHARE:
            fitting.append((share, pack))
    packed = []
    for _, pack in sorted(fitting, key=lambda one: -one[0]):
        rows = _rows(pack, names, counts)
        names = {number: name for number, name in names.items() if number not in rows}
        packed.append((pack, rows))
        mark_used(pack.path)
    found = store.get(namespace, set(names.values()))
    loose = {n: found[name] for n, name in names.items() if name in found and len(found[name][TOKENS]) == counts[n]}
    return KeyLookup(tuple(packed), loose, tuple(number for number in names if number not in loose))


def tidied(store: Store, namespace: str, workspace: Workspace, found: KeyLookup) -> bool:
    """Pack many loose keys, and join many packs. True if anything was done."""
    names, tokens = workspace.units_keys, sum(int(record[TOKENS].sum()) for record in found.loose.values())
    total = tokens + sum(_tokens(pack, rows.values()) for pack, rows in found.packed)
    if tokens > max(_LOOSE_TOKENS, _LOOSE_SHARE * total):
        return store.pack(namespace, {names[number]: record for number, record in found.loose.items()})
    if len(found.packed) > _MOST_PACKS:
        return store.join(namespace, [pack for pack, _ in found.packed], names)
    return False


def _rows(pack: Pack, names: Mapping[int, str], counts: NDArray[np.int64]) -> dict[int, int]:
    """The number of the record of each file that the pack has; of files alike, only one has it."""
    sizes = np.diff(pack.starts[TOKENS])
    files = {name: number for number, name in names.items()}
    rows = {files[name]: pack.numbers[name] for name in files.keys() & pack.numbers.keys()}
    return {number: row for number, row in rows.items() if sizes[row] == counts[number]}


def _tokens(pack: Pack, records: Iterable[int]) -> int:
    starts, offsets = pack.starts[TOKENS], _offsets(pack)
    rows = np.array(list(records), np.int64)
    return int((offsets[starts[rows + 1]] - offsets[starts[rows]]).sum())


def _offsets(pack: Pack) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(pack.arrays[TOKENS], dtype=np.int64)])


def _part(workspace: Workspace, pack: Pack, rows: Mapping[int, int]) -> KeyBlock:
    starts = pack.starts[TOKENS]
    files = np.full(len(starts) - 1, NO_PLACE, np.int64)
    files[list(rows.values())] = list(rows)
    arrays = {name: array for name, array in pack.arrays.items() if name != TOKENS}
    return KeyBlock(unit_numbers(starts, files, workspace.unit_starts), _offsets(pack), arrays)


@dataclass(frozen=True, slots=True)
class EncodedUnits:
    """Some units of a file, by their numbers in it (int32 [N]), with their keys in that order."""

    units: NDArray[np.int32]
    keys: FileKeys

    def joined(self, other: EncodedUnits) -> EncodedUnits:
        """The units of both."""
        tokens = np.concatenate([self.keys.unit_tokens, other.keys.unit_tokens])
        arrays = join_arrays([self.keys.arrays, other.keys.arrays])
        return EncodedUnits(np.concatenate([self.units, other.units]), FileKeys(tokens, arrays))


KeysByFile = dict[int, EncodedUnits]  # units with keys, by the number of their file in the workspace


def record_of(keys: FileKeys) -> Record:
    """The keys of a file as they are stored."""
    return {TOKENS: keys.unit_tokens, **keys.arrays}


def keys_of_record(record: Record) -> FileKeys:
    """The inverse of `record_of`."""
    return FileKeys(record[TOKENS], {name: value for name, value in record.items() if name != TOKENS})


def whole_file(record: Record) -> EncodedUnits:
    """All units of a file, from its record."""
    return EncodedUnits(np.arange(len(record[TOKENS]), dtype=np.int32), keys_of_record(record))


def keys_of(workspace: Workspace, files: KeysByFile, packed: Sequence[KeyBlock] = ()) -> WorkspaceKeys:
    """The keys of files, which are copied into one part, and those in packs."""
    copied = [_copied(workspace, files)] if files or not packed else []
    return WorkspaceKeys.of(workspace, (*packed, *copied))


def _copied(workspace: Workspace, parts: KeysByFile) -> KeyBlock:
    order = sorted(parts)
    units = [workspace.unit_starts[number] + parts[number].units for number in order]
    tokens = [parts[number].keys.unit_tokens for number in order]
    rows = np.concatenate([np.empty(0, np.int64), *tokens])
    arrays = join_arrays([parts[number].keys.arrays for number in order])
    return KeyBlock(np.concatenate([np.empty(0, np.int64), *units]), np.cumsum([0, *rows], dtype=np.int64), arrays)
