"""Fetching from an index that runs on this machine: the right bytes, or nothing."""

import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow_research.errors import EvaluationError
from winnow_research.evaluation.archives import Archive, unpacked

from ...sharing.serving import served


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An index's folder; PIP_INDEX_URL leads to it."""
    folder = tmp_path / "index"
    folder.mkdir()
    with served(folder) as url:
        monkeypatch.setenv("PIP_INDEX_URL", f"{url}/")
        yield folder


def publish(index: Path, served: bytes, sha256: str) -> Archive:
    page = index / "tool"
    page.mkdir()
    (page / "tool-1.0.tar.gz").write_bytes(served)
    (page / "index.html").write_text(f'<a href="tool-1.0.tar.gz#sha256={sha256}">tool-1.0.tar.gz</a>')
    return Archive("pypi", "tool", "1.0", sha256)


def sdist() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        member = tarfile.TarInfo("tool-1.0/tool.py")
        member.size = 6
        tar.addfile(member, io.BytesIO(b"x = 1\n"))
        link = tarfile.TarInfo("tool-1.0/link.py")
        link.type, link.linkname = tarfile.SYMTYPE, "tool.py"
        tar.addfile(link)
    return buffer.getvalue()


def test_an_archive_is_fetched_once_and_unpacked_without_its_top_folder_and_links(index: Path, tmp_path: Path) -> None:
    archive = publish(index, sdist(), hashlib.sha256(sdist()).hexdigest())
    place = unpacked(archive, tmp_path / "cache")
    assert [(path.name, path.read_bytes()) for path in place.iterdir()] == [("tool.py", b"x = 1\n")]
    (index / "tool" / "tool-1.0.tar.gz").unlink()
    assert unpacked(archive, tmp_path / "cache") == place


def test_other_bytes_than_the_pinned_ones_are_refused(index: Path, tmp_path: Path) -> None:
    archive = publish(index, sdist() + b"more", hashlib.sha256(sdist()).hexdigest())
    with pytest.raises(EvaluationError, match="not the pinned"):
        unpacked(archive, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
