"""Chunks of large files: runs of units that are encoded together, so that an edit costs only those that it touched.

Content defines where chunks end, as in rsync and restic, so an edit moves the ends near it and no others. The record of
a file's last version lies under its path: the hash of each chunk, and the name of the keys.
"""

from __future__ import annotations

import hashlib
import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.encoder.profile import join_arrays
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.storage.packs import Record, packed_keys, unpacked_keys

_WHOLE = 16_000  # characters, up to which a file is one chunk: about two segments
_LEAST, _MOST = 3_000, 6_500  # characters of a chunk; the latter are about a segment


def chunk_ranges(texts: Sequence[str]) -> list[range]:
    """The units of each chunk of a file. Only a chunk of one unit is longer than 6,500 characters."""
    ends = np.cumsum([len(text) for text in texts])
    if not len(ends) or ends[-1] <= _WHOLE:
        return [range(len(texts))]
    found, start = [], 0
    while start < len(texts):
        end = _end(texts, ends, start)
        found.append(range(start, end))
        start = end
    return found


def _end(texts: Sequence[str], ends: NDArray[np.int64], start: int) -> int:
    """The end of the chunk that begins with unit `start`: the unit with the least hash in reach."""
    begun = int(ends[start - 1]) if start else 0
    if ends[-1] - begun <= _MOST:
        return len(texts)
    first = int(np.searchsorted(ends, begun + _LEAST)) + 1
    last = int(np.searchsorted(ends, begun + _MOST, side="right"))
    if last < first:  # a long unit ends the chunk, or is one
        return max(last, start + 1)
    return min(range(first, last + 1), key=lambda unit: (zlib.crc32(texts[unit].encode("utf-8", "replace")), unit))


def chunk_hash(path: str, texts: Sequence[str]) -> str:
    """Names all that the keys of a chunk depend on; without texts, the record of a file's last version."""
    digest = hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=20)
    for text in texts:
        data = text.encode("utf-8", "replace")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def earlier_chunks(record: Record, whole: FileKeys) -> dict[str, FileKeys]:
    """The keys of chunks by hash, from the record of a file's last version and the keys of the whole file."""
    names, ends = unpacked_keys(record["hashes"]), [0, *record["ends"].tolist()]
    parts = (_some(whole, start, end) for start, end in itertools.pairwise(ends))
    return dict(zip(names, parts, strict=True))


@dataclass(slots=True)
class PlannedFile:
    """A file with the keys of its chunks, None for those still to be encoded."""

    file: IndexedFile
    texts: tuple[str, ...]
    ranges: list[range]
    hashes: list[str]
    keys: list[FileKeys | None] = field(default_factory=list)

    @classmethod
    def of(cls, file: IndexedFile) -> PlannedFile:
        """All of a file."""
        texts = file.texts(file.units)
        ranges = chunk_ranges(texts)
        hashes = [chunk_hash(file.local_path, texts[one.start : one.stop]) for one in ranges]
        return cls(file, texts, ranges, hashes, [None] * len(ranges))

    @property
    def large(self) -> bool:
        """True for several chunks."""
        return len(self.ranges) > 1

    @property
    def complete(self) -> bool:
        """True if no chunk is left to be encoded."""
        return all(one is not None for one in self.keys)

    def missing(self) -> list[FileText]:
        """The chunks still to be encoded, in order."""
        return [
            FileText(self.file.local_path, self.texts[one.start : one.stop])
            for one, keys in zip(self.ranges, self.keys, strict=True)
            if keys is None
        ]

    def add(self, keys: FileKeys) -> None:
        """The keys of the first chunk that is missing."""
        self.keys[self.keys.index(None)] = keys

    def whole(self) -> FileKeys:
        """The keys of a complete file."""
        found = [one for one in self.keys if one is not None]
        if len(found) == 1:
            return found[0]
        tokens = np.concatenate([one.unit_tokens for one in found])
        return FileKeys(tokens, join_arrays([one.arrays for one in found]))

    def record(self) -> Record:
        """The record that `earlier_chunks` reads."""
        return {
            "hashes": packed_keys(self.hashes),
            "ends": np.array([one.stop for one in self.ranges], np.int32),
            "keys": np.frombuffer(bytes.fromhex(self.file.units_key), np.uint8),
        }


def _some(keys: FileKeys, first: int, end: int) -> FileKeys:
    tokens = np.concatenate([[0], np.cumsum(keys.unit_tokens, dtype=np.int64)])
    units, rows = slice(first, end), slice(int(tokens[first]), int(tokens[end]))
    arrays = {
        name: array[units if len(array) == len(keys.unit_tokens) else rows] for name, array in keys.arrays.items()
    }
    return FileKeys(keys.unit_tokens[units], arrays)
