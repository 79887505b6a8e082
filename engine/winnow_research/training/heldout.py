"""Keeps the evaluation's repositories out of the training data, wherever copies of their files are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_LEAST_CHARACTERS = 20  # of a line without its white space; shorter lines, such as `return None;`, are too common
_LEAST_LINES = 3
_MOST_SHARED = 0.5
_SPACE = re.compile(rb"\s+")


@dataclass
class SeenLines:
    """Fingerprints of lines, which tell how much of a text has been seen before."""

    _seen: set[bytes] = field(default_factory=set)

    def add(self, data: bytes) -> None:
        """Remember the long lines of a text."""
        self._seen.update(_fingerprints(data))

    def copied(self, data: bytes) -> bool:
        """Whether at least half of the long lines of a text, and at least three, have been seen."""
        lines = list(_fingerprints(data))
        shared = sum(line in self._seen for line in lines)
        return shared >= max(_LEAST_LINES, _MOST_SHARED * len(lines))


def seen_in(texts: Iterable[bytes]) -> SeenLines:
    """The lines of some texts."""
    lines = SeenLines()
    for text in texts:
        lines.add(text)
    return lines


def _fingerprints(data: bytes) -> Iterator[bytes]:
    for line in data.splitlines():
        squeezed = _SPACE.sub(b"", line)
        if len(squeezed) >= _LEAST_CHARACTERS:
            yield hashlib.blake2b(squeezed, digest_size=8).digest()
