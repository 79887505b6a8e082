"""What an edit leaves of a file: most lines keep keys that they had, a few need new ones.

Until the file is encoded anew, a unit has the rows of its lines from the last version, wherever they stood there, and
those of its new lines, encoded without what stands before them. Which rows of a unit belong to which line is estimated
by characters; at either end of what was moved or cut it may be wrong by a token or two. A vector of the whole unit is
that of the part with most tokens.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow_engine.encoder.file_encoder import FileKeys
from winnow_engine.encoder.profile import join_arrays
from winnow_engine.storage.packs import Record

_NEW = -1


def lines_record(texts: Sequence[str]) -> Record:
    """What the next version of a file must know of the lines of its units: hashes, sizes, how many each unit has."""
    lines = [text.splitlines(keepends=True) for text in texts]
    return {
        "lines": np.array([_hash(line) for some in lines for line in some], np.uint32),
        "line_sizes": np.array([len(line) for some in lines for line in some], np.int32),
        "line_counts": np.array([len(some) for some in lines], np.int32),
    }


@dataclass(frozen=True, slots=True)
class LastVersion:
    """The lines of a file as it was encoded last, L in all: their hashes, and their units and rows in its keys.

    Line n has the rows starts[n]:ends[n].
    """

    hashes: list[int]
    units: list[int]
    starts: list[int]
    ends: list[int]
    keys: FileKeys

    @classmethod
    def of(cls, record: Record, keys: FileKeys) -> LastVersion:
        """From what `lines_record` gave."""
        units = np.repeat(np.arange(len(record["line_counts"])), record["line_counts"])
        characters = np.cumsum(record["line_sizes"], dtype=np.int64)
        of_units = np.bincount(units, record["line_sizes"], len(keys.unit_tokens))
        before = np.cumsum(of_units) - of_units
        rows = np.cumsum(keys.unit_tokens, dtype=np.int64) - keys.unit_tokens
        share = (characters - before[units]) / np.maximum(of_units[units], 1)
        ends = rows[units] + np.rint(share * keys.unit_tokens[units]).astype(np.int64)
        starts = np.maximum(np.concatenate([[0], ends[:-1]]), rows[units])
        return cls(record["lines"].tolist(), units.tolist(), starts.tolist(), ends.tolist(), keys)


@dataclass(frozen=True, slots=True)
class Edit:
    """The units of a file: the lines of its last version that each still has, and the text that is `added`."""

    last: LastVersion | None
    lines: list[list[int]]
    added: list[str]

    @classmethod
    def between(cls, last: LastVersion | None, texts: Sequence[str]) -> Edit:
        """What leads from the last version, if there is one, to units with these texts."""
        origins = _Origins(last.hashes if last else [])
        lines, added = [], []
        for text in texts:
            split = text.splitlines(keepends=True)
            found = [origins.of(_hash(line)) for line in split]
            known = [one for one in found if one != _NEW]
            new = "".join(line for line, one in zip(split, found, strict=True) if one == _NEW)
            empty = last is None or not any(last.ends[one] > last.starts[one] for one in known)
            lines.append([] if empty else known)
            added.append(text if empty else new if new.strip() else "")
        return cls(last, lines, added)

    @property
    def texts(self) -> tuple[str, ...]:
        """What is to be encoded."""
        return tuple(text for text in self.added if text)

    def keys(self, added: FileKeys) -> FileKeys:
        """The keys of all units, with those of `texts`."""
        known = [self.last.keys] if self.last else []
        arrays = join_arrays([one.arrays for one in (*known, added)])
        tokens = np.concatenate([one.unit_tokens for one in (*known, added)])
        parts = list(self._parts(np.cumsum(tokens, dtype=np.int64), sum(len(one.unit_tokens) for one in known)))
        rows = [np.concatenate([np.arange(start, end) for _, start, end in some]) for some in parts]
        of_tokens = np.concatenate([np.empty(0, np.int64), *rows])
        of_units = [_largest(some) for some in parts]
        return FileKeys(
            np.array([len(some) for some in rows], np.int32),
            {name: array[of_units if len(array) == len(tokens) else of_tokens] for name, array in arrays.items()},
        )

    def _parts(self, ends: NDArray[np.int64], number: int) -> Iterator[list[tuple[int, int, int]]]:
        """For each unit, the unit and the rows of what it has: lines, and what is added, whose units begin at `number`.

        `ends` are the ends of the rows of all units, of the last version and added.
        """
        for lines, text in zip(self.lines, self.added, strict=True):
            last = self.last
            some = [(last.units[one], last.starts[one], last.ends[one]) for one in lines] if last else []
            if text:
                some.append((number, int(ends[number - 1]) if number else 0, int(ends[number])))
                number += 1
            yield some


class _Origins:
    """Where lines come from: each from the one alike in the last version that is nearest to where it is expected."""

    def __init__(self, hashes: Sequence[int]) -> None:
        self._expected, self._places = 0, defaultdict[int, list[int]](list)
        for number, one in enumerate(hashes):
            self._places[one].append(number)

    def of(self, line: int) -> int:
        """The number of the line that this one was."""
        places = self._places.get(line)
        if not places:
            return _NEW
        at = bisect_left(places, self._expected)
        found = min(places[max(at - 1, 0) : at + 1], key=lambda place: abs(place - self._expected))
        self._expected = found + 1
        return found


def _largest(parts: Sequence[tuple[int, int, int]]) -> int:
    """The unit with most rows."""
    rows = Counter[int]()
    for unit, start, end in parts:
        rows[unit] += end - start
    return rows.most_common(1)[0][0]


def _hash(line: str) -> int:
    return zlib.crc32(line.encode("utf-8", "replace"))
