"""Files that are written beside their place."""

import os
import time
from pathlib import Path

import pytest

from winnow_engine.storage.folders import temporary


def test_a_file_stays_only_under_its_own_name(tmp_path: Path) -> None:
    with temporary(tmp_path) as part:
        part.write_text("whole")
        part.replace(tmp_path / "kept")
    with pytest.raises(OSError, match="full"), temporary(tmp_path) as part:
        raise OSError("full")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_what_a_killed_process_left_is_deleted_later(tmp_path: Path) -> None:
    for name, age in ((".winnow-old.tmp", 7200), (".winnow-young.tmp", 60), ("of-others.tmp", 7200), ("old", 7200)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    with temporary(tmp_path):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {".winnow-young.tmp", "of-others.tmp", "old"}
