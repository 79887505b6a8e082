"""Keys of files and of some of their units, joined to those of a workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow_engine.encoder.file_encoder import FileKeys
from winnow_engine.encoder.profile import join_arrays
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.key_lookup import TOKENS
from winnow_engine.keys.workspace_keys import KeyBlock, WorkspaceKeys
from winnow_engine.storage.packs import Record


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


KeysByFile = dict[int, EncodedUnits]
"""Units with keys, by the number of their file in the workspace."""


def record_of(keys: FileKeys) -> Record:
    """The keys of a file as they are stored."""
    return {TOKENS: keys.unit_tokens, **keys.arrays}


def keys_of_record(record: Record) -> FileKeys:
    """The inverse of `record_of`."""
    return FileKeys(record[TOKENS], {name: value for name, value in record.items() if name != TOKENS})


def whole_file(keys: FileKeys) -> EncodedUnits:
    """All units of a file."""
    return EncodedUnits(np.arange(len(keys.unit_tokens), dtype=np.int32), keys)


def joined(workspace: Workspace, parts: KeysByFile) -> WorkspaceKeys:
    """The keys of a workspace from those of its files."""
    return keys_of(workspace, [], parts)


def parts_of(records: Mapping[int, Record]) -> KeysByFile:
    """The units of whole files from their records, by file number."""
    return {number: whole_file(keys_of_record(record)) for number, record in records.items()}


def keys_of(workspace: Workspace, packed: Sequence[KeyBlock], files: KeysByFile) -> WorkspaceKeys:
    """The keys in packs, and those of files one by one, which are copied into one part."""
    copied = [_copied(workspace, files)] if files or not packed else []
    return WorkspaceKeys.of(workspace, (*packed, *copied))


def _copied(workspace: Workspace, parts: KeysByFile) -> KeyBlock:
    order = sorted(parts)
    units = [workspace.unit_starts[number] + parts[number].units for number in order]
    tokens = [parts[number].keys.unit_tokens for number in order]
    rows = np.concatenate([np.empty(0, np.int64), *tokens])
    arrays = join_arrays([parts[number].keys.arrays for number in order])
    return KeyBlock(np.concatenate([np.empty(0, np.int64), *units]), np.cumsum([0, *rows], dtype=np.int64), arrays)
