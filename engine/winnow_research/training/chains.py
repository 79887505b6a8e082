"""Units that belong together: a function with what it uses, users of one thing, and methods of one name."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import numpy as np

from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.evaluation.haystack import is_test_path
from winnow_research.training.dataset import Dataset

Chain = tuple[int, ...]

_LENGTHS = (2, 3, 3, 3, 4)
_UNIT_TOKENS, _MOST_TOGETHER = range(20, 301), 600
_SHARED, _NAMED = 0.15, 0.15  # the shares of users of one thing, and of methods of one name
_ACROSS = 0.85  # the share of chains over several files
_ON = 0.6  # how often a chain goes on from its last unit rather than from any
_HEAD_TOKENS = 40
_DEFINED = re.compile(r"([A-Za-z]\w{4,})\s*(?:<[^<>]*>)?\(")
_ASIDE = re.compile(r"^\s*(?:[@#*]|//|/\*|\"\"\").*$", re.MULTILINE)
_NOT_DEFINED = frozenset(("while", "switch", "return", "function", "catch", "assert", "super", "sizeof", "defined"))


def chains(
    data: Dataset, vocabulary: Vocabulary, paths: Sequence[str], count: int, rng: random.Random
) -> list[tuple[Chain, int]]:
    """At most `count` chains of two to four units outside tests, each with its language's number. None comes twice."""
    fair = _fair(data, paths)
    links = _links(data)
    starts = sorted({unit for link in links for unit in link if fair[unit]})
    grown = (_grown(start, links, fair, rng) for start in rng.sample(starts, len(starts)))
    sources = (
        (round(count * _SHARED), _cut(_users(data), fair, rng)),
        (round(count * _NAMED), _cut(_of_one_name(data, vocabulary, paths, fair), fair, rng)),
        (count, grown),
    )
    tokens, file_of, language = np.diff(data.units.offsets), _files_of_units(data), _languages(data)
    found: dict[frozenset[int], Chain] = {}
    for most, source in sources:
        room = {True: round(min(most, count - len(found)) * _ACROSS)}
        room[False] = min(most, count - len(found)) - room[True]
        for chain in source:
            across = len(set(file_of[list(chain)].tolist())) > 1
            together = int(tokens[list(chain)].sum()) <= _MOST_TOGETHER
            if room[across] > 0 and len(chain) > 1 and together and frozenset(chain) not in found:
                found[frozenset(chain)] = chain
                room[across] -= 1
    return [(chain, next((language[unit] for unit in chain if unit in language), 0)) for chain in found.values()]


def _fair(data: Dataset, paths: Sequence[str]) -> list[bool]:
    """By unit, whether it stands outside tests and has a size worth asking for."""
    shown = np.array([not is_test_path(path) for path in paths])
    tokens = np.diff(data.units.offsets)
    sizes = (tokens >= _UNIT_TOKENS.start) & (tokens < _UNIT_TOKENS.stop)
    fair: list[bool] = (sizes & shown[_files_of_units(data)]).tolist()
    return fair


def _files_of_units(data: Dataset) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.repeat(np.arange(len(data.headers)), np.diff(data.file_units))


def _links(data: Dataset) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """By unit, the units that it uses, and those that use it, as questions at the cursor and about usage tell."""
    pairs: set[tuple[int, int]] = set()
    for question in np.flatnonzero(data.asked_at >= 0).tolist():
        kind, at = data.kinds[data.kind_of[question]], int(data.asked_at[question])
        for gold in data.golds[question].tolist():
            pairs.add((at, gold) if kind == "cursor" else (gold, at))
    uses, users = defaultdict(list), defaultdict(list)
    for user, used in sorted(pairs):
        uses[user].append(used)
        users[used].append(user)
    return dict(uses), dict(users)


def _users(data: Dataset) -> Iterator[list[int]]:
    """Units that use the same thing, and that if it is known."""
    for question in range(len(data.questions)):
        if data.kinds[data.kind_of[question]] == "usage":
            at = int(data.asked_at[question])
            yield [*data.golds[question].tolist(), *([at] if at >= 0 else [])]


def _of_one_name(
    data: Dataset, vocabulary: Vocabulary, paths: Sequence[str], fair: Sequence[bool]
) -> Iterator[list[int]]:
    """Functions of one name in two to four files of a folder."""
    file_of = _files_of_units(data)
    groups: dict[tuple[int, str, str], list[int]] = defaultdict(list)
    for unit in sorted(unit for unit in _languages(data) if fair[unit]):
        text = vocabulary.text(data.units[unit][:_HEAD_TOKENS].tolist())
        name = next((n for n in _DEFINED.findall(_ASIDE.sub("", text)) if n not in _NOT_DEFINED), None)
        if name is not None:
            file = int(file_of[unit])
            groups[int(data.project_of[file]), str(PurePosixPath(paths[file]).parent), name].append(unit)
    for units in groups.values():
        if len(units) == len({int(file_of[unit]) for unit in units}) in range(2, 5):
            yield units


def _languages(data: Dataset) -> dict[int, int]:
    """The language of the units that some question is about."""
    return {int(data.golds[n][0]): int(data.language_of[n]) for n in range(len(data.golds))}


def _cut(groups: Iterable[list[int]], fair: Sequence[bool], rng: random.Random) -> Iterator[Chain]:
    """The groups in random order, each as a chain of random length."""
    all_groups = list(groups)
    for group in rng.sample(all_groups, len(all_groups)):
        units = [unit for unit in group if fair[unit]]
        yield tuple(rng.sample(units, min(len(units), rng.choice(_LENGTHS))))


def _grown(start: int, links: Sequence[Mapping[int, list[int]]], fair: Sequence[bool], rng: random.Random) -> Chain:
    """A chain from a unit to what it uses, to what that uses, and so on; where that ends, to what uses them."""
    chain, length = [start], rng.choice(_LENGTHS)
    while len(chain) < length:
        places = [chain[-1], *chain] if rng.random() < _ON else rng.sample(chain, len(chain))
        options = (
            [unit for unit in link.get(place, ()) if fair[unit] and unit not in chain]
            for link in links
            for place in places
        )
        some = next(filter(None, options), None)
        if some is None:
            break
        chain.append(rng.choice(some))
    return tuple(chain)
