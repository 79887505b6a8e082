"""Shards of a shared index: their list, `winnow-index.json`, and the table of each one's records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from winnow_engine.errors import SharedIndexError
from winnow_engine.storage.store import checksum
from winnow_engine.untrusted import read_json

CONTENTS = "winnow-index.json"
MOST_BYTES = 16 << 20  # no list of contents is longer
_FORMAT = 2


@dataclass(frozen=True, slots=True)
class Shard:
    """One repository's records: the name of its files, which is the `content_name` of the table, and their sizes."""

    content: str
    table_bytes: int
    record_bytes: int
    files: int

    def __post_init__(self) -> None:
        if not (self.content.isalnum() and self.content.isascii()):  # it becomes part of a path or URL
            raise ValueError(f"{self.content!r} names no shard")
        if any(type(number) is not int or number < 0 for number in (self.table_bytes, self.record_bytes, self.files)):
            raise ValueError(f"{self.content} has no sizes")

    @property
    def table(self) -> str:
        """The name of the file with the table."""
        return f"{self.content}.table"

    @property
    def records(self) -> str:
        """The name of the file with the records."""
        return f"{self.content}.records"


Contents = Mapping[str, Shard]  # shards by the name of their repository


def packed_contents(contents: Contents) -> bytes:
    """The contents as JSON."""
    document = {"format": _FORMAT, "shards": {name: asdict(contents[name]) for name in sorted(contents)}}
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def unpacked_contents(data: bytes) -> Contents:
    """The inverse of `packed_contents`. Raises SharedIndexError if this is another format, or none."""
    try:
        document: dict[str, Any] = read_json(data)
        if document["format"] != _FORMAT:
            raise SharedIndexError(f"it has format {document['format']}, and this Winnow reads {_FORMAT}: update one")
        return {name: Shard(**shard) for name, shard in document["shards"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SharedIndexError(f"{CONTENTS} is malformed: {error}") from error


KEY_BYTES = 20


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """A record's bytes in the shard's file, and their checksum."""

    start: int
    size: int
    checksum: bytes

    @property
    def stop(self) -> int:
        """The byte after the record."""
        return self.start + self.size


Table = Mapping[str, Mapping[str, RecordPlace]]  # places by namespace and key


def packed_table(table: Table) -> bytes:
    """A table as bytes; equal tables give equal bytes."""
    namespaces = sorted(table)
    rows = [(number, key, table[name][key]) for number, name in enumerate(namespaces) for key in sorted(table[name])]
    data: bytes = save(
        {
            "namespace": np.array([number for number, _, _ in rows], np.uint8),
            "key": _bytes(bytes.fromhex(key) for _, key, _ in rows).reshape(-1, KEY_BYTES),
            "place": np.array([(place.start, place.size) for _, _, place in rows], np.int64).reshape(-1, 2),
            "checksum": _bytes(place.checksum for _, _, place in rows).reshape(len(rows), -1),
            "namespaces": _bytes([json.dumps(namespaces).encode()]),
        }
    )
    return data


def unpacked_table(data: bytes) -> Table:
    """The inverse of `packed_table`. Raises SharedIndexError if this is no table."""
    try:
        arrays = load(data)
        namespaces: list[str] = read_json(arrays["namespaces"].tobytes())
        table: dict[str, dict[str, RecordPlace]] = {name: {} for name in namespaces}
        places = arrays["place"]
        if places.dtype != np.int64 or np.any(places < 0):
            raise ValueError("its records lie nowhere")
        rows = zip(arrays["namespace"], arrays["key"], places.tolist(), arrays["checksum"], strict=True)
        for namespace, key, (start, size), check in rows:
            table[namespaces[namespace]][key.tobytes().hex()] = RecordPlace(start, size, check.tobytes())
    except (SafetensorError, KeyError, IndexError, ValueError, TypeError) as error:
        raise SharedIndexError(f"its table is malformed: {error}") from error
    return table


def sound(data: bytes, place: RecordPlace) -> bool:
    """True if these are the bytes of the record at this place."""
    return len(data) == place.size and checksum(data) == place.checksum


def content_name(table: bytes) -> str:
    """Name of a shard: a hash of its packed table, which has the keys and checksums of its records."""
    return hashlib.blake2b(table, digest_size=KEY_BYTES).hexdigest()


def _bytes(parts: Iterable[bytes]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(b"".join(parts), np.uint8)
