"""Symbol evidence: names used in the question, or in the code at the cursor, point at their definitions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Set

import numpy as np
from numpy.typing import NDArray

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}")
_MARKED = re.compile(r"`([^`]+)`|(\w+)\(")

Scores = NDArray[np.float32]


def identifiers(text: str) -> set[str]:
    """The distinct identifiers of at least three characters in a text."""
    return set(_IDENTIFIER.findall(text))


def _looks_like_code(name: str) -> bool:
    return "_" in name.strip("_") or name.startswith("_") or not (name.islower() or name.istitle())


class SymbolTable:
    """Which units of a workspace define a name."""

    def __init__(self, definitions: Iterable[tuple[str, int]], units: int) -> None:
        self._units = units
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for name, unit in definitions:
            self._by_name[name].append(unit)

    def score(self, question: str, code_names: Set[str] = frozenset()) -> tuple[Scores, Scores]:
        """Two scores a unit, float32 [U] each: Σ over the names it defines of 1 / √(units that define the name).

        The first counts names that are surely meant as names: `code_names`, used at the cursor, and those of the
        question that can only be code (`a_b`, `aB`) or are set off as code (`name()`, back-quotes). The second counts
        the question's plain words, which may be some function's name by chance.
        """
        marked = {name for pair in _MARKED.findall(question) for part in pair for name in identifiers(part)}
        asked = identifiers(question)
        certain = code_names | marked | {name for name in asked if _looks_like_code(name)}
        return self._sum(certain), self._sum(asked - certain)

    def _sum(self, names: Set[str]) -> Scores:
        scores = np.zeros(self._units, np.float32)
        for name in names:
            places = sorted(set(self._by_name.get(name, ())))
            if places:
                scores[places] += 1.0 / np.sqrt(len(places))
        return scores
