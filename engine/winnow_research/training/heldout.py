"""What training must not see: the sources of the development and test repositories, wherever a copy of them lies."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_LEAST_CHARACTERS = 20  # of a line without its white space; shorter lines (`return None;`) say nothing
_LEAST_LINES = 3
_MOST_SHARED = 0.5
_SPACE = re.compile(rb"\s+")


@dataclass
class SeenLines:
    """Fingerprints of lines; tells how much of a text consists of lines seen before."""

    _seen: set[bytes] = field(default_factory=set)

    def add(self, data: bytes) -> None:
        """Remember the telling lines of a text."""
        self._seen.update(_fingerprints(data))

    def copied(self, data: bytes) -> bool:
        """Whether at least half of the telling lines of a text, and three of them, have been seen."""
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
