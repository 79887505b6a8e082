"""Symbols: the names in a question, or in the code at the cursor, lead to definitions and to their users."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from winnow_engine.core import Scores

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}")
_MARKED = re.compile(r"`([^`]+)`|(\w+)\(|(\w+(?:(?:\.|::|#)\w+)+)")
_WORD = re.compile(r"[A-Za-z]\w*")
_LONGEST_RUN = 3  # words that may together be one name: "read header line" for `readHeaderLine`
_SHORTEST_RUN = 6  # letters; "to do" is no name


def identifiers(text: str) -> set[str]:
    """The distinct identifiers of at least three characters in a text."""
    return set(_IDENTIFIER.findall(text))


def folded(name: str) -> str:
    """A name in lower case without underscores: `read_header` and `ReadHeader` are easily mistaken for each other."""
    return name.replace("_", "").lower()


@dataclass(frozen=True, slots=True)
class AskedNames:
    """Names a question may mean, each defined or used somewhere in the workspace.

    Names in `certain` can only be code (`a_b`, `aB`) or are marked as code (`name()`, `A.b`, back-quotes). Names in
    `possible` are plain words, alone or joined, that may equal a definition's name by chance.
    """

    certain: Set[str]
    possible: Set[str]


class SymbolTable:
    """Which units of a workspace define a name, and which use one. Both are given as pairs of a name and a unit."""

    def __init__(
        self, definitions: Iterable[tuple[str, int]], references: Iterable[tuple[str, int]], units: int
    ) -> None:
        self._units = units
        self._definitions, self._users = _by_name(definitions), _by_name(references)
        self._defined, self._used = _by_unit(self._definitions), _by_unit(self._users)
        self._spellings: dict[str, set[str]] = defaultdict(set)
        for name in self._definitions:
            self._spellings[folded(name)].add(name)

    def asked(self, question: str) -> AskedNames:
        """The names in a question, however it spells them."""
        marked = {name for found in _MARKED.findall(question) for part in found for name in identifiers(part)}
        plain = identifiers(question)
        certain = self._known(marked | {name for name in plain if _looks_like_code(name)})
        runs = {name for run in _runs(question) for name in self._spellings.get(run, ())}
        return AskedNames(certain, (self._known(plain) | runs) - certain)

    def definitions(self, names: Set[str]) -> Scores:
        """Σ over the names a unit defines of 1 / √(units that define the name), float32 [U]."""
        return self._sum(self._definitions, names)

    def users(self, names: Set[str]) -> Scores:
        """Σ over the names a unit uses of 1 / √(units that use the name), float32 [U]."""
        return self._sum(self._users, names)

    def defining(self, name: str) -> Sequence[int]:
        """The units that define a name, in order."""
        return self._definitions.get(name, ())

    def using_name(self, name: str) -> Sequence[int]:
        """The units that use a name, in order, whatever is meant by it there."""
        return self._users.get(name, ())

    def rarity(self, names: Set[str]) -> float:
        """1 / √(units that define it) of the name that fewest units define; 0 if none is defined."""
        return max(
            (1.0 / np.sqrt(len(self._definitions[name])) for name in names & self._definitions.keys()), default=0.0
        )

    def used_by(self, units: Mapping[int, float]) -> Scores:
        """How much each unit is used by the weighted units, float32 [U]. Rare names count more."""
        return self._spread(units, self._used, self._definitions)

    def using(self, units: Mapping[int, float]) -> Scores:
        """How much each unit uses what the weighted units define, float32 [U]. Rare names count more."""
        return self._spread(units, self._defined, self._users)

    def _known(self, names: Iterable[str]) -> set[str]:
        """Names as the workspace spells them; those it has in no spelling are left out."""
        found: set[str] = set()
        for name in names:
            exact = name in self._definitions or name in self._users
            found |= {name} if exact else self._spellings.get(folded(name), set())
        return found

    def _sum(self, places: Mapping[str, Sequence[int]], names: Set[str]) -> Scores:
        scores = np.zeros(self._units, np.float32)
        for name in sorted(names & places.keys()):
            scores[places[name]] += 1.0 / np.sqrt(len(places[name]))
        return scores

    def _spread(
        self, units: Mapping[int, float], names: Mapping[int, Sequence[str]], places: Mapping[str, Sequence[int]]
    ) -> Scores:
        scores = np.zeros(self._units, np.float32)
        for unit, weight in units.items():
            for name in names.get(unit, ()):
                if name in places and name in self._definitions:
                    rarity = 1.0 / (len(self._definitions[name]) * np.sqrt(len(places[name])))
                    scores[places[name]] += weight * rarity
        return scores


def _looks_like_code(name: str) -> bool:
    return "_" in name.strip("_") or name.startswith("_") or not (name.islower() or name.istitle())


def _runs(text: str) -> Iterator[str]:
    """Every two and three neighbouring words, folded into one."""
    words = _WORD.findall(text)
    for length in range(2, _LONGEST_RUN + 1):
        for start in range(len(words) - length + 1):
            run = folded("".join(words[start : start + length]))
            if len(run) >= _SHORTEST_RUN:
                yield run


def _by_name(pairs: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for name, unit in pairs:
        found[name].add(unit)
    return {name: sorted(units) for name, units in found.items()}


def _by_unit(places: Mapping[str, Sequence[int]]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for name, units in places.items():
        for unit in units:
            found[unit].append(name)
    return dict(found)
