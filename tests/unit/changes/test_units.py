from itertools import chain
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow_engine.changes.changed import ChangedFile, hunks, line_texts, similarity, unchanged
from winnow_engine.changes.units import FileUnits, file_units

BEFORE = b"""import os


def first():
    return 1


class Basket:
    size = 1

    def total(self):
        return 2

    def other(self):
        return 3


def last():
    return 4
"""

TEXTS = st.lists(st.sampled_from([b"a", b"b", b"def f():", b"    x", b"", b"}", b"c\xe9"]), max_size=12)


def changed(before: bytes | None, after: bytes | None, path: str = "a.py") -> ChangedFile:
    return ChangedFile(path, None if before is None else path, before, after, after is None)


def touched(found: FileUnits) -> list[tuple[str, str]]:
    """Each changed unit's name with what happened to it."""
    said = {(True, True): "changed", (True, False): "removed", (False, True): "new"}
    return [(unit.name, said[unit.before is not None, unit.after is not None]) for unit in found.units]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"return 2", b"return 20", [("Basket.total", "changed")]),
        (b"    return 4", b"    x = 1\n    return x", [("last", "changed")]),
        (b"def last():\n    return 4\n", b"", [("last", "removed")]),
        (b"import os\n", b"import os\n\n\ndef new():\n    return os\n", [("new", "new")]),
        (b"def first", b"def renamed", [("renamed", "changed")]),
        (b"    size = 1", b"    size = 2", [("Basket", "changed")]),
    ],
)
def test_the_unit_that_changed(old: bytes, new: bytes, expected: list[tuple[str, str]]) -> None:
    found = touched(file_units(changed(BEFORE, BEFORE.replace(old, new))))
    assert [one for one in found if one[0]] == expected


def test_a_function_that_moves_is_the_same_function() -> None:
    last = b"\n\ndef last():\n    return 4\n"
    moved = BEFORE.replace(last, b"").replace(b"import os\n", b"import os\n" + last)
    (unit,) = (unit for unit in file_units(changed(BEFORE, moved)).units if unit.name == "last")
    assert unit.before is not None
    assert unit.after is not None
    assert not [line for hunk in unit.hunks for line in hunk.before if unit.before_lines[line - 1].strip()]


@given(TEXTS, TEXTS, st.sampled_from(["a.py", "a.c", "a.md", "a.txt"]))
def test_each_changed_line_is_in_one_changed_unit(before: list[bytes], after: list[bytes], path: str) -> None:
    file = changed(b"\n".join(before), b"\n".join(after), path)
    units = file_units(file).units
    old = [unit.before for unit in units if unit.before]
    new = [unit.after for unit in units if unit.after]
    for side, lines in (
        (old, chain.from_iterable(hunk.before for hunk in file.hunks)),
        (new, chain.from_iterable(hunk.after for hunk in file.hunks)),
    ):
        assert len(set(side)) == len(side)
        for line in lines:
            assert sum(unit.start_line <= line <= unit.end_line for unit in side) == 1


@given(TEXTS)
def test_line_ends_do_not_count(lines: list[bytes]) -> None:
    forms = [end.join(lines) for end in (b"\n", b"\r\n")]
    assert hunks(*map(line_texts, forms)) == ()
    assert similarity(*forms) in (0.0, 1.0)


@pytest.mark.parametrize("names", [3000, 100])
def test_values_of_a_long_text_that_change_are_told_from_names_that_stay(names: int) -> None:
    before, after = (
        [line for n in range(3000) for line in (b"%d" % (n % names), b"%b%d" % (of, n))] for of in (b"a", b"b")
    )
    assert [hunk.before for hunk in hunks(before, after)] == [range(line, line + 1) for line in range(2, 6001, 2)]


def test_an_object_that_moves_from_the_start_of_a_long_list_to_its_end_is_two_hunks() -> None:
    objects = [[b"  {", b'    "name": "%d",' % n, b'    "on": true', b"  },"] for n in range(1000)]
    before, after = ([*chain.from_iterable(part)] for part in (objects, objects[1:] + objects[:1]))
    assert [(len(hunk.before), len(hunk.after)) for hunk in hunks(before, after)] == [(4, 0), (0, 4)]


def test_a_header_that_moves_to_the_end_of_a_long_text_of_common_lines_is_two_hunks() -> None:
    header, lines = [b"# head"], [b"{", b'  "on": true', b"},"] * 2000
    found = hunks(header + lines, lines + header)
    assert [(len(hunk.before), len(hunk.after)) for hunk in found] == [(1, 0), (0, 1)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0).map(Random), st.integers(2, 3000))
def test_lines_of_long_texts_that_stay_are_the_same_in_order(random: Random, values: int) -> None:
    before, after = ([b"%d" % random.randrange(values) for _ in range(size)] for size in (1100, 1200))
    same = unchanged(before, after)
    assert [before[line - 1] for line in same] == [after[line - 1] for line in same.values()]
    assert sorted(set(same.values())) == [*same.values()]
    assert len(same) + sum(len(hunk.before) for hunk in hunks(before, after)) == len(before)


def test_a_difference_of_two_long_texts_does_not_take_long() -> None:
    before, after = ([b"%d" % (n * step) for n in range(20_000)] for step in (2, 3))
    assert hunks(before, after)
