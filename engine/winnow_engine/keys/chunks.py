"""A large file is encoded in chunks, so that after an edit only those are encoded that it touched.

A chunk is a run of units that are encoded together, apart from the others. Where chunks end depends on the text around
(content-defined chunking, as in rsync and restic): an edit moves the ends near it, and no others. What is known of a
file's last version is kept under its path: the hash of each chunk, and the name of the keys.
"""

from __future__ import annotations

import hashlib
import itertools
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.encoder.profile import join_arrays
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.storage.packs import Record

_WHOLE = 16_000  # characters, up to which a file is one chunk: about two segments
_LEAST, _MOST = 3_000, 6_500  # characters of a chunk; the latter are about as many tokens as a segment has


def chunk_ranges(texts: Sequence[str]) -> list[range]:
    """The units of each chunk of a file. A chunk is only longer than 6,500 characters if a unit is."""
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
    """Where the chunk that begins with unit `start` ends: before the unit with the least hash among those in reach."""
    begun = int(ends[start - 1]) if start else 0
    if ends[-1] - begun <= _MOST:
        return len(texts)
    first = int(np.searchsorted(ends, begun + _LEAST)) + 1
    last = int(np.searchsorted(ends, begun + _MOST, side="right"))
    if last < first:  # a long unit ends the chunk, or is one
        return max(last, start + 1)
    return min(range(first, last + 1), key=lambda unit: (zlib.crc32(texts[unit].encode("utf-8", "replace")), unit))


def chunk_hash(path: str, texts: Sequence[str]) -> str:
    """The name of all that the keys of a chunk depend on."""
    digest = hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=20)
    for text in texts:
        data = text.encode("utf-8", "replace")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class EarlierChunks:
    """The chunks of a file's last version: their keys by their hashes."""

    keys: Mapping[str, FileKeys]

    @classmethod
    def of(cls, record: Record, whole: FileKeys) -> EarlierChunks:
        """From the record of the chunks, and the keys of the whole file."""
        names, ends = _hex(record["hashes"]), [0, *record["ends"].tolist()]
        parts = (_some(whole, start, end) for start, end in itertools.pairwise(ends))
        return cls(dict(zip(names, parts, strict=True)))


@dataclass(slots=True)
class PlannedFile:
    """A file with the keys of its chunks, those that are still to be encoded being None."""

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
        """Whether there are several chunks."""
        return len(self.ranges) > 1

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be encoded."""
        return all(one is not None for one in self.keys)

    def take(self, earlier: EarlierChunks) -> None:
        """Use the keys of chunks that are as they were."""
        self.keys = [earlier.keys.get(name) for name in self.hashes]

    def missing(self) -> list[FileText]:
        """What is to be encoded, in order."""
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
        """What the next version needs to know of this one."""
        return {
            "hashes": np.frombuffer(bytes.fromhex("".join(self.hashes)), np.uint8).reshape(-1, 20),
            "ends": np.array([one.stop for one in self.ranges], np.int32),
            "keys": np.frombuffer(bytes.fromhex(self.file.units_key), np.uint8),
        }


def path_key(path: str) -> str:
    """The name of the record of a file's last version."""
    return hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=20).hexdigest()


def _hex(rows: NDArray[np.uint8]) -> list[str]:
    return [row.tobytes().hex() for row in rows]


def _some(keys: FileKeys, first: int, end: int) -> FileKeys:
    """The keys of some units."""
    tokens = np.concatenate([[0], np.cumsum(keys.unit_tokens, dtype=np.int64)])
    units, rows = slice(first, end), slice(int(tokens[first]), int(tokens[end]))
    arrays = {
        name: array[units if len(array) == len(keys.unit_tokens) else rows] for name, array in keys.arrays.items()
    }
    return FileKeys(keys.unit_tokens[units], arrays)
