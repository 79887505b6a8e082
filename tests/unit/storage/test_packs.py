"""Packs joined: which records are kept, and in which order."""

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
    packs.join(packs.all(), names)
    (one,) = packs.all()
    assert sorted(one.keys) == names
