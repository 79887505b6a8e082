"""Packs joined: which records are kept, and in which order."""

import os
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.storage.packs import Packs


def key(number: int) -> str:
    return f"{number:040x}"


def test_what_is_named_comes_first_and_as_many_others_are_kept(tmp_path: Path) -> None:
    packs = Packs(tmp_path)
    for numbers in (range(4), range(2, 9)):
        packs.add({key(number): {"rows": np.full(2, number, np.int32)} for number in numbers})
    packs.join(packs.all(), [key(5), key(1), key(99), key(5)])
    (one,) = packs.all()
    assert one.keys[:2] == [key(5), key(1)]
    assert len(one.keys) == len(set(one.keys)) == 4
    assert all(one.record(name)["rows"].tolist() == 2 * [int(name, 16)] for name in one.keys)


def test_packs_that_cannot_be_deleted_are_written_as_one_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packs, names, unlink = Packs(tmp_path), [key(number) for number in range(9)], Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".pack":
            raise PermissionError(path)
        unlink(path, missing_ok)

    for numbers in (range(4), range(4, 9)):
        packs.add({key(number): {"rows": np.full(2, number, np.int32)} for number in numbers})
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        for _ in range(3):
            packs.join(packs.all(), names)
        assert len(packs.all()) == 3
    packs.join(packs.all(), names[::-1])
    (one,) = packs.all()
    assert one.keys == names[::-1]


def test_processes_that_join_packs_at_once_lose_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, names, unlink = Packs(tmp_path), Packs(tmp_path), [key(2), key(1)], Path.unlink
    for _ in range(2):
        one.add({key(number): {"rows": np.full(2, number, np.int32)} for number in (1, 2)})
    packs, others = one.all(), other.all()

    def join_first(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".pack":
            monkeypatch.setattr(Path, "unlink", unlink)
            os.utime(path)  # the other process uses it
            other.join(others, names)
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", join_first)
    one.join(packs, names)
    assert Packs(tmp_path).known(names) == {*names}
