"""`winnow-index.json`: the shards of an index."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from winnow_engine.errors import SharedIndexError
from winnow_engine.untrusted import read_json

CONTENTS = "winnow-index.json"
MOST_BYTES = 16 << 20
"""No list of contents is longer."""
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Shard:
    """One repository's records: the name of its files, their sizes in bytes, and the table's BLAKE2b as hex digits."""

    content: str
    table_bytes: int
    table_hash: str
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


Contents = Mapping[str, Shard]
"""Shards by the name of their repository."""


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
