"""What an edit leaves: lines keep their rows wherever they go, new lines are encoded, and later all is as if anew."""

import itertools
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from winnow_engine.core import Cancellation, Folder, ignore_progress
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.keys import provisional
from winnow_engine.keys.edits import Edit, LastVersion, lines_record
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.keys.workspace_keys import WorkspaceKeys
from winnow_engine.storage.store import Store
from winnow_research.faults.counting_drafter import CountingDrafter

NEVER = Cancellation()


def keys_of(texts: list[str]) -> FileKeys:
    """A row for each word, whose number is its letters'; a unit's vector is its length."""
    (keys,) = CountingDrafter().encode([FileText("a", tuple(texts))])
    return keys


def edited(before: list[str], after: list[str]) -> tuple[Edit, FileKeys]:
    edit = Edit.between(LastVersion.of(lines_record(before), keys_of(before)), after)
    return edit, edit.keys(keys_of(list(edit.texts)))


def rows(keys: FileKeys, unit: int) -> list[list[int]]:
    """The rows of a unit, sorted: those of new lines come last."""
    ends = np.cumsum(keys.unit_tokens)
    return sorted(keys.arrays["codes"][ends[unit] - keys.unit_tokens[unit] : ends[unit]].tolist())


def line(rng: random.Random) -> str:
    """One of many lines, all of the same shape, so that characters tell exactly which rows are a line's."""
    return " ".join("".join(rng.choices("abcdefgh", k=4)) for _ in range(3)) + "\n"


def block(rng: random.Random, least: int = 1) -> str:
    return "".join(line(rng) for _ in range(rng.randint(least, 8)))


@pytest.mark.parametrize("seed", range(20))
def test_every_unit_has_the_rows_of_its_lines(seed: int) -> None:
    rng = random.Random(seed)
    before = [block(rng) for _ in range(6)]
    lines = "".join(before).splitlines(keepends=True)
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(lines))
        lines[at : at + rng.randint(0, 3)] = [line(rng) for _ in range(rng.randint(0, 3))]
    cuts = sorted({0, *rng.sample(range(1, len(lines)), 4), len(lines)})
    after = ["".join(lines[start:end]) for start, end in itertools.pairwise(cuts)]
    edit, found = edited(before, after)
    anew = keys_of(after)
    assert found.unit_tokens.tolist() == anew.unit_tokens.tolist()
    for unit in range(len(after)):
        assert rows(found, unit) == rows(anew, unit)
    known = set("".join(before).splitlines())
    assert not known & set("".join(edit.texts).splitlines()), "only new lines are encoded"


def test_a_unit_that_is_as_it_was_keeps_its_keys_in_order_wherever_it_goes() -> None:
    rng = random.Random(0)
    before = [block(rng) for _ in range(4)]
    after = [before[3], before[0], block(rng), before[2]]
    edit, found = edited(before, after)
    assert edit.texts == (after[2],)
    anew = keys_of(after)
    for name, array in found.arrays.items():
        np.testing.assert_array_equal(array, anew.arrays[name])


def test_of_two_lines_alike_each_keeps_its_own_rows() -> None:
    last = LastVersion.of(lines_record(["a b\n", "}\n", "c d\n", "}\n"]), keys_of(["a b\n", "}\n", "c d\n", "}\n"]))
    assert Edit.between(last, ["a b\n", "}\n", "x\n", "c d\n", "}\n"]).lines == [[0], [1], [], [2], [3]]


def test_the_vector_of_a_unit_is_that_of_its_larger_part() -> None:
    before = ["one two\nthree four\nfive six\n", "seven eight\n"]
    _, few = edited(before, [before[0] + "nine\n", before[1]])
    _, many = edited(before, [before[0], before[1] + "nine ten\neleven twelve\n"])
    assert few.arrays["pooled"][0] == len(before[0])
    assert many.arrays["pooled"][1] == len("nine ten\neleven twelve\n")


@pytest.mark.parametrize("after", [["\n"], ["\n", "one two\n"], ["  \n\n"], ["x\n"]])
def test_every_unit_has_keys_also_if_nothing_was_left_or_it_is_blank(after: list[str]) -> None:
    _, found = edited(["one two\n", "\n"], after)
    assert len(found.unit_tokens) == len(after)
    assert min(found.unit_tokens) > 0


def test_a_new_file_is_encoded_whole() -> None:
    texts = ["one two\n", "\n", "three\n"]
    edit = Edit.between(None, texts)
    assert edit.texts == tuple(texts)
    found, anew = edit.keys(keys_of(texts)), keys_of(texts)
    np.testing.assert_array_equal(found.arrays["codes"], anew.arrays["codes"])


class Recording(CountingDrafter):
    """Remembers what it encoded. Where a text begins changes its keys, as with a real drafter."""

    def __init__(self) -> None:
        super().__init__(pause_s=0.0)
        self.texts: list[str] = []

    def encode(self, files, *_: object) -> Iterator[FileKeys]:  # type: ignore[no-untyped-def]
        for file in files:
            self.texts += file.units
            (keys,) = super().encode([file])
            codes = np.array(keys.arrays["codes"])
            codes[:, 1] = np.arange(len(codes)) % 100
            yield FileKeys(keys.unit_tokens, {**keys.arrays, "codes": codes})


def function(number: int, rng: random.Random) -> str:
    lines = "".join(f"    value_{rng.randrange(10**6)} = call({i})\n" for i in range(12))
    return f"def step_{number}(value):\n{lines}    return value\n\n\n"


class Place:
    """A workspace, and a process that keeps its index."""

    def __init__(self, folder: Path) -> None:
        self.root, self.drafter, self.store = folder / "root", Recording(), Store(folder / "index.sqlite")
        self.root.mkdir()
        self.cache = KeyCache(self.store, cast("Drafter", self.drafter))
        rng = random.Random(0)
        self.parts = [function(number, rng) for number in range(80)]
        self.save()
        self.complete()

    def save(self) -> None:
        (self.root / "large.py").write_text("".join(self.parts))
        (self.root / "small.py").write_text("".join(self.parts[:9]))

    def read(self) -> Workspace:
        return read_workspace(Sources((Folder(self.root),)), self.store, NEVER)

    def soon(self) -> WorkspaceKeys | None:
        self.drafter.texts.clear()
        self.cache.tokens_per_s = 1000.0
        return self.cache.soon(self.read(), NEVER)

    def complete(self) -> WorkspaceKeys:
        return self.cache.of(self.read(), ignore_progress, NEVER)

    def records(self) -> list[tuple[str, str]]:
        """The names of all that is stored."""
        with closing(sqlite3.connect(self.root.parent / "index.sqlite")) as connection:
            return connection.execute("SELECT namespace, key FROM record ORDER BY namespace, key").fetchall()

    def check_as_if_anew(self, folder: Path) -> None:
        """That what is kept for good is what an index made from nothing has."""
        with closing(Store(folder / "anew.sqlite")) as store:
            anew = KeyCache(store, cast("Drafter", Recording())).of(self.read(), ignore_progress, NEVER)
        keys = self.complete()
        assert not keys.provisional
        assert keys.unit_tokens.tolist() == anew.unit_tokens.tolist()
        for name, array in keys.arrays.items():
            np.testing.assert_array_equal(array, anew.arrays[name])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr(provisional, "_AT_ONCE_S", 0.0)
    one = Place(tmp_path)
    with closing(one.store):
        yield one


def test_after_an_edit_only_what_is_new_is_encoded_and_nothing_stored(place: Place, tmp_path: Path) -> None:
    assert place.soon() is None, "the index is complete"
    place.parts[3] = place.parts[3].replace("    return", "    print(value)\n    return")
    place.save()
    place.read()
    stored = place.records()
    keys = place.soon()
    assert keys is not None
    assert keys.provisional
    assert keys.missing_tokens == 0
    assert min(keys.unit_tokens) > 0
    assert place.drafter.texts == ["    print(value)\n"] * 2
    assert place.soon() is keys
    assert place.drafter.texts == []
    assert place.records() == stored
    place.check_as_if_anew(tmp_path)
    assert place.soon() is None


@pytest.mark.parametrize("seed", range(3))
def test_whatever_was_provisional_the_index_is_one_made_from_nothing(place: Place, tmp_path: Path, seed: int) -> None:
    rng, found = random.Random(seed), 0
    for number in range(8):
        at = rng.randrange(len(place.parts))
        place.parts[at : at + rng.randint(0, 2)] = [function(100 + number, rng)] * rng.randint(0, 2)
        place.save()
        keys = place.soon()
        found += keys is not None
        if rng.random() < 0.3:
            place.complete()
    assert found > 4
    place.check_as_if_anew(tmp_path)


def test_where_much_is_new_there_is_nothing_provisional(place: Place) -> None:
    rng = random.Random(9)
    place.parts = [function(number, rng) for number in range(80)]
    place.save()
    assert place.soon() is None
    assert place.drafter.texts == []


def test_without_the_keys_of_the_last_version_there_is_nothing_provisional(place: Place) -> None:
    place.parts.insert(3, "print(1)\n\n\n")
    place.save()
    place.store.trim(0)
    assert place.soon() is None


def test_a_file_that_was_encoded_elsewhere_is_ready_for_edits_once_it_is_indexed_here(place: Place) -> None:
    with closing(sqlite3.connect(place.root.parent / "index.sqlite")) as connection, connection:
        connection.execute("DELETE FROM record WHERE namespace LIKE 'pieces-%'")
    edit = place.parts[3].replace("    return", "    print(value)\n    return")
    place.cache.expect_edits(place.read(), NEVER)
    place.parts[3] = edit
    place.save()
    assert place.soon() is not None
    assert place.drafter.texts == ["    print(value)\n"] * 2


def test_what_is_missing_for_a_moment_only_is_encoded_for_good(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provisional, "_AT_ONCE_S", 60.0)
    place.parts.insert(3, "print(1)\n\n\n")
    place.save()
    assert place.soon() is None
