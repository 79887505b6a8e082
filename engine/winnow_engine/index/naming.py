"""Symbol evidence: names used in the question, or in the code at the cursor, point at their definitions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Set

import numpy as np
from numpy.typing import NDArray

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}")
# A plain lower-case word of a question may only happen to be some function's name.
_PLAIN_WORD = 0.25


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

    def score(self, question: str, code_names: Set[str] = frozenset()) -> NDArray[np.float32]:
        """float32 [U]: Σ over names a unit defines of weight / √(units that define it).

        `code_names` are used at the cursor and weigh 1, as do names that can only be code (`a_b`, `aB`), or that the
        question sets off as code (`name()`, back-quotes).
        """
        scores = np.zeros(self._units, np.float32)
        marked = set(re.findall(r"`(\w+)`|(\w+)\(", question))
        quoted = {part for pair in marked for part in pair if part}
        for name in identifiers(question) | code_names:
            certain = name in code_names or name in quoted or _looks_like_code(name)
            places = sorted(set(self._by_name.get(name, ())))
            if places:
                scores[places] += (1.0 if certain else _PLAIN_WORD) / np.sqrt(len(places))
        return scores
