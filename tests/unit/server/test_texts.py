"""Which files a change may be made to."""

from __future__ import annotations

from pathlib import Path

import pytest

from winnow_engine.errors import NotApplicableError
from winnow_lsp.server.session.editor import check_within


def test_a_file_in_a_folder_may_be_made_however_the_folder_is_reached(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "alias").symlink_to(root)
    for given in (root, tmp_path / "alias"):
        check_within((given / "tests" / "new.py").as_uri(), [tmp_path / "other", given])


def test_a_file_behind_a_link_may_not(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "tests").symlink_to(tmp_path)
    (root / "circle").symlink_to("circle")
    for folder in ("tests", "circle", "..", "../root2"):
        with pytest.raises(NotApplicableError, match="by a link"):
            check_within((root / folder / "new.py").as_uri(), [root])
