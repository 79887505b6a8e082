"""Facts about every file that do not depend on a question, computed once."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import DEFINITIONS, UnitKind
from winnow_engine.index.name_rules import ABOVE, is_test, module_of
from winnow_engine.index.words import UNSPACED

SAMPLE_UNITS = 512  # a mean they give is off by 1/23 of a deviation, less what candidates tell
_DEFINITIONS = [list(UnitKind).index(kind) for kind in DEFINITIONS]
_STEP = np.uint64(0x9E3779B97F4A7C15)
_NAME = re.compile(  # `src/app.py`, `.github/ci.yml`, `routes/+page.ts`, `app/(auth)/[id]/page.tsx`
    r"(?<![\w./)\]-])(?<!/[@+$])(?!(?<=\[)\[)"  # in linear time
    r"[@+$]?(?:[\w./-]|(?<=/)[@+$]|\([\w.-]+\)|\[{1,2}[\w.-]+\]{1,2})*\.(?a:[A-Za-z]\w{0,15}\b)"
)
# `core.py和lib/app.py的区别` has two parts, each up to a suffix. A name may begin behind any letter of such a script.
_PART = re.compile(rf".+?\.[A-Za-z](?a:\w{{0,15}})(?=[{UNSPACED}]|$)")
_BEGINNING = re.compile(rf"(?<=[{UNSPACED}])(?=\w|\.\w+(?:/|$)|\.{{1,2}}/)")
_NO_LETTER = re.compile(r"[\W_]")
_MOST_BEGINNINGS = 40  # in a part, the last ones


@dataclass(frozen=True)
class FileTable:
    """F files by path and key. File f has the units unit_starts[f]:unit_starts[f+1], int64 [F+1], of `unit_kinds`."""

    paths: Sequence[str]
    keys: Sequence[str]
    unit_starts: NDArray[np.int64]
    unit_kinds: NDArray[np.int8]

    @cached_property
    def are_tests(self) -> NDArray[np.bool_]:
        """Mask of files that lie where tests and examples do, or are named so, bool [F]."""
        return np.array([is_test(path) for path in self.paths], np.bool_)

    @cached_property
    def define(self) -> NDArray[np.bool_]:
        """Mask of files that define a function, a method or a class, bool [F]."""
        before = np.concatenate([[0], np.cumsum(np.isin(self.unit_kinds, _DEFINITIONS))])
        return np.asarray(np.diff(before[self.unit_starts]) > 0)

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[int]]:
        """Numbers of files by the last part of their paths."""
        found: dict[str, list[int]] = defaultdict(list)
        for number, path in enumerate(self.paths):
            found[path.rpartition("/")[2]].append(number)
        return found

    @cached_property
    def by_words(self) -> Mapping[str, Sequence[int]]:
        """Numbers of files. `pools/core.py` has the keys core, corepy, poolscore and corepool: lower case, no signs."""
        found: dict[str, list[int]] = defaultdict(list)
        for number, path in enumerate(self.paths):
            folder, _, name = path.lower().rpartition("/")
            stem, folder = name.lstrip("._").partition(".")[0], folder.rpartition("/")[2]
            tool = stem.removesuffix("rc") if name.startswith(".") else stem  # `.eslintrc.json`
            names = stem, tool, name, folder + stem, stem + folder.removesuffix("s")
            for words in {_NO_LETTER.sub("", one) for one in names} - {""}:
                found[words].append(number)
        return found

    @cached_property
    def _by_any_case(self) -> Mapping[str, Sequence[tuple[str, int]]]:
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for number, path in enumerate(self.paths):
            found[path.rpartition("/")[2].lower()].append((f"/{path.lower()}", number))
        return found

    def named(self, text: str) -> Mapping[str, Sequence[int]]:
        """Numbers of the files that a text names, by the name. `/` separates folders, also in paths of Windows.

        A name is a path or the end of one; if no file has it, a path of at least three parts with folders before it,
        the longest. A name in lower case stands for any other if no file has it. One without a suffix is a word.
        """
        names = dict.fromkeys(_NAME.findall(text))
        parts = ([one] if one.isascii() or self._ending(one) else _PART.findall(one) for one in names)
        return dict(filter(None, map(self._named_in, dict.fromkeys(chain.from_iterable(parts)))))

    def _named_in(self, part: str) -> tuple[str, Sequence[int]] | None:
        begins = [0, *[match.start() for match in _BEGINNING.finditer(part)][-_MOST_BEGINNINGS:]]
        return next(((name, files) for begin in begins if (files := self._ending(name := part[begin:]))), None)

    def _ending(self, name: str) -> Sequence[int]:
        name = ABOVE.sub("", name)
        for end in dict.fromkeys((name, name.lstrip("./@+$"))):
            lower = f"/{end.lower()}"
            found = [n for path, n in self._by_any_case.get(lower.rpartition("/")[2], ()) if _names(lower, path)]
            least = min(len(end), max((len(self.paths[n]) for n in found), default=0))
            near = [n for n in found if len(self.paths[n]) >= least]
            exact = [n for n in near if _names(f"/{end}", f"/{self.paths[n]}")]
            if exact or (near and end.islower()):
                return exact or near
        return ()

    @cached_property
    def by_module(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """(module, path) of files by the last part of their modules (`module_of`)."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for path in self.paths:
            found[(module := module_of(path)).rpartition("/")[2]].append((module, path))
        return found

    @cached_property
    def unit_sample(self) -> NDArray[np.int64]:
        """A sample of 512 units, or all, int64 in order. A hash of content and place decides: edits change little."""
        counts = np.diff(self.unit_starts)
        keys = np.repeat(np.array([_number(key) for key in self.keys], np.uint64), counts)
        places = np.arange(len(keys)) - np.repeat(self.unit_starts[:-1], counts)
        if len(keys) <= SAMPLE_UNITS:
            return np.arange(len(keys))
        return np.sort(np.argpartition(_mixed(keys + places.astype(np.uint64) * _STEP), SAMPLE_UNITS)[:SAMPLE_UNITS])


def _names(name: str, path: str) -> bool:
    return path.endswith(name) or (path.count("/") > 2 and name.endswith(path))  # both begin with a slash


def _number(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little")


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele et al. 2014)."""
    mixed = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)
