"""Symbols: the names in a question, or in the code at the cursor, lead to definitions and to their users."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores
from winnow_engine.index.postings import Occurrences, Places, Postings, Strings
from winnow_engine.index.words import UNSPACED

_IDENTIFIER = re.compile(r"[^\W\d]\w{2,}")
_MARKED = re.compile(r"`([^`]+)`|\b(\w+)\(|\b(\w+(?:(?:\.|::|#)\w+)+)")
_DOTTED = re.compile(r"\b\w+(?:\.\w+)+")
_WORD = re.compile(r"[^\W\d_]\w*")
_BORDER = re.compile(rf"(?<=[{UNSPACED}])(?=[A-Za-z_])|(?<=[A-Za-z\d_])(?=[{UNSPACED}])")
_BORDERED = re.compile(rf"\b\w*?(?:{_BORDER.pattern})\w*")
_LONGEST_RUN = 3  # words that may together be one name: "read header line" for `readHeaderLine`
_SHORTEST_RUN = 6  # letters; "to do" is no name
_FEW_FILES = 2  # that define a name, such as a header and its source


def identifiers(text: str) -> set[str]:
    """Distinct identifiers of at least three characters in a text."""
    return set(_IDENTIFIER.findall(text))


def names_in(text: str) -> set[str]:
    """The identifiers of a text, and what dots join, which is one name in some languages."""
    return identifiers(text) | set(_DOTTED.findall(text))


def folded(name: str) -> str:
    """A name in lower case without underscores: `read_header` and `ReadHeader` are easily mistaken for each other."""
    return name.replace("_", "").lower()


@dataclass(frozen=True, slots=True)
class AskedNames:
    """Names that a question may mean, each defined or used somewhere in the workspace.

    `certain` names can only be code (`a_b`, `aB`) or are marked as code (`name()`, `A.b`, back-quotes). `possible` ones
    are plain words, alone or joined, that may equal a definition's name by chance.
    """

    certain: Set[str]
    possible: Set[str]


class SymbolTable:
    """Units that define a name, and units that use it. `spellings` leads from a folded name to defined ones."""

    def __init__(self, definitions: Places, references: Places, spellings: Spellings, units: int) -> None:
        self._units = units
        self._definitions, self._users, self._spellings = definitions, references, spellings

    def asked(self, question: str) -> AskedNames:
        """Names in a question, however it spells them."""
        question = self.spaced(question)
        marked, plain = _marked(question), identifiers(question)
        certain = self._known(marked | {name for name in plain if _looks_like_code(name)})
        runs = {name for run in _runs(question) for name in self._spellings.of(run) if name in self._definitions}
        return AskedNames(certain, (self._known(plain) | runs) - certain)

    def lacks_named(self, question: str) -> bool:
        """True if a question names code, and the workspace has none of it in any spelling. `HTTP` names no code."""
        question = self.spaced(question)
        named = _marked(question) | {name for name in identifiers(question) if _mixes_cases(name)}
        return bool(named) and not self._known(named)

    def spaced(self, text: str) -> str:
        """The text with spaces where a name begins or ends beside Chinese or the like, as in `调用 run 时`."""
        return _BORDERED.sub(lambda word: word[0] if self._known([word[0]]) else _BORDER.sub(" ", word[0]), text)

    def has(self, name: str) -> bool:
        """True if a unit defines or uses exactly this name."""
        return name in self._definitions or name in self._users

    def definitions(self, names: Set[str]) -> Scores:
        """Σ over the names a unit defines of 1 / √(units that define the name), float32 [U]."""
        return self._sum(self._definitions, names)

    def users(self, names: Set[str]) -> Scores:
        """Σ over the names a unit uses of 1 / √(units that use the name), float32 [U]."""
        return self._sum(self._users, names)

    def defining(self, name: str) -> Sequence[int]:
        """Units that define a name, in order."""
        return list[int](self._definitions.of(name)[0].tolist())

    def completing(self, word: str) -> Iterator[str]:
        """Defined names that hold a word in any case: those that begin with it first, then the shortest."""
        sought = word.lower()
        found = {name for name in self._spellings.names() if len(name) >= len(word) and sought in name.lower()}
        order = sorted(found, key=lambda name: (not name.lower().startswith(sought), len(name), name))
        return (name for name in order if name in self._definitions)

    def spelled(self, name: str) -> Set[str]:
        """The defined names that a name means: itself, else another case, with `?`, `!` or `'`, its singular."""
        likely = (folded(name) + ending for ending in ("", "?", "!", "'"))
        forms = {name}, *map(self._spellings.of, (*likely, folded(name).removesuffix("s")))
        return next(filter(None, ({one for one in form if one in self._definitions} for form in forms)), set())

    def resembling(self, name: str) -> Set[str]:
        """Defined names that begin with a name of six letters or more in any spelling, else those a typo away."""
        if len(sought := folded(name)) < _SHORTEST_RUN:
            return set()
        likely = {one: folded(one) for one in self._spellings.names() if one[:1].lower() == sought[:1]}
        for alike in (str.startswith, _is_typo):
            if found := {one for one, other in likely.items() if alike(other, sought) and one in self._definitions}:
                return found
        return set()

    def using_name(self, name: str) -> Sequence[int]:
        """Units that use a name, in order, whatever it means there."""
        return list[int](self._users.of(name)[0].tolist())

    def uses(self, files: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of other files that use each unit's most used name, int64 [U]; 0 for names that many files define.

        `files` are the units' files, int64 [U], or -1 for a unit that does not count.
        """
        numbers, count = dict[str, int](), int(files.max(initial=0)) + 1
        tables = (table.rows(numbers) for table in (self._definitions, self._users))
        defined, used = (rows[files[rows[:, 1]] >= 0] for rows in tables)
        defining, using = (np.unique(rows[:, 0] * count + files[rows[:, 1]]) for rows in (defined, used))
        users = np.bincount(np.setdiff1d(using, defining) // count, minlength=len(numbers))
        users[np.bincount(defining // count, minlength=len(numbers)) > _FEW_FILES] = 0
        found = np.zeros(self._units, np.int64)
        np.maximum.at(found, defined[:, 1], users[defined[:, 0]])
        return found

    def shares_elsewhere(self, groups: NDArray[np.int64], count: int) -> NDArray[np.float64]:
        """Share of the names of each of `count` groups that a unit of no group defines, too, float64 [count].

        `groups` are the units' groups, int64 [U], or -1 for a unit of none.
        """
        names, units = self._definitions.rows({}).T
        found, within = np.divmod(np.unique((names * count + groups[units])[groups[units] >= 0]), count)
        elsewhere = np.isin(found, names[groups[units] < 0])
        return np.bincount(within, elsewhere, count) / np.maximum(np.bincount(within, minlength=count), 1)

    def rarity(self, names: Set[str]) -> float:
        """1 / √(units that define it) of the name that fewest units define; 0 if none is defined."""
        defined = (len(self._definitions.of(name)[0]) for name in names)
        return max((1.0 / np.sqrt(units) for units in defined if units), default=0.0)

    def used_by(self, units: Mapping[int, float]) -> Scores:
        """Use of each unit by the weighted units, float32 [U]. Rare names count more."""
        return self._spread(units, self._users, self._definitions)

    def using(self, units: Mapping[int, float]) -> Scores:
        """Use by each unit of names that the weighted units define, float32 [U]. Rare names count more."""
        return self._spread(units, self._definitions, self._users)

    def _known(self, names: Iterable[str]) -> set[str]:
        """Names as the workspace spells them; those it has in no spelling are left out."""
        return set().union(*({name} if self.has(name) else self.spelled(name) for name in names))

    def _sum(self, places: Places, names: Set[str]) -> Scores:
        scores = np.zeros(self._units, np.float32)
        for name in sorted(names):
            units, _ = places.of(name)
            scores[units] += 1.0 / np.sqrt(max(len(units), 1))
        return scores

    def _spread(self, units: Mapping[int, float], names: Places, places: Places) -> Scores:
        """Spread weights from units over the `places` of the names that they have in `names`."""
        scores = np.zeros(self._units, np.float32)
        for unit, weight in units.items():
            for name in names.at(unit):
                found, defined = places.of(name)[0], len(self._definitions.of(name)[0])
                if len(found) and defined:
                    scores[found] += weight / (defined * np.sqrt(len(found)))
        return scores


def _marked(text: str) -> set[str]:
    return {name for found in _MARKED.findall(text) for part in found for name in names_in(part)}


def _mixes_cases(name: str) -> bool:
    letters = name.lstrip("_")
    return "_" in name.strip("_") or not (letters.removesuffix("s").isupper() or letters[1:] == letters[1:].lower())


def _is_typo(one: str, other: str) -> bool:
    """True if a letter is missing, added or another, or two neighbours have changed places."""
    if abs(len(one) - len(other)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    one, other = one[start:], other[start:]
    missing, added = other == one[1:], other[1:] == one
    another, swapped = other[1:] == one[1:], other == one[1::-1] + one[2:]
    return missing or added or another or swapped


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


def occurring(pairs: Iterable[tuple[str, int]]) -> Occurrences:
    """Pairs of a name and a unit as occurrences, each once."""
    numbers: dict[str, int] = {}
    rows = [(numbers.setdefault(name, len(numbers)), unit, 1) for name, unit in dict.fromkeys(pairs)]
    return Occurrences(list(numbers), np.array(rows, np.int32).reshape(-1, 3))


def spellings(names: Strings) -> Postings:
    """The numbers of names, as places, by folded name."""
    found = occurring((folded(name.replace(".", "")), number) for number, name in enumerate(names.all))
    return Postings.built([found], len(names), by_place=False)


class Spellings:
    """Names of several tables by their folded form. Each part is a table's names with their `spellings`."""

    def __init__(self, parts: Sequence[tuple[Strings, Postings]]) -> None:
        self._parts = parts

    def of(self, name: str) -> set[str]:
        """Names that fold to `name`. Some may occur nowhere any more."""
        return {names[number] for names, spelled in self._parts for number in spelled.of(name)[0].tolist()}

    def names(self) -> Iterator[str]:
        """All names. Some may occur nowhere any more."""
        return chain.from_iterable(names.all for names, _ in self._parts)
