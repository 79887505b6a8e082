"""Source archives from package registries: fetched by name, version and hash, unpacked once, never run."""

from __future__ import annotations

import hashlib
import html
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urljoin

import httpx
import platformdirs

from winnow_research.errors import EvaluationError

Registry = Literal["pypi", "npm", "debian"]
_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Archive:
    """A source distribution (pypi), package (npm) or upstream tarball (debian).

    `sha256` is that of the file the registry serves.
    """

    registry: Registry
    project: str
    version: str
    sha256: str

    @property
    def folder(self) -> str:
        """The name of its folder in the cache."""
        return f"{self.registry}-{re.sub('[^a-z0-9]+', '-', self.project.lower()).strip('-')}-{self.version}"


def default_directory() -> Path:
    """The folder `repositories` in the platform's cache directory for Winnow."""
    return Path(platformdirs.user_cache_dir("winnow")) / "repositories"


def unpacked(archive: Archive, directory: Path | None = None) -> Path:
    """The folder with the archive's files, without the archive's own top folder; fetched on first use.

    EvaluationError if the registry does not deliver the archive, or delivers other bytes than the pinned ones.
    """
    directory = directory or default_directory()
    place = directory / archive.folder
    if not place.is_dir():
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory) as scratch:
            file = fetched(archive, Path(scratch))
            _check(archive, file)
            _unpack(file, Path(scratch) / "files").rename(place)
    return place


def fetched(archive: Archive, scratch: Path) -> Path:
    """The file that the registry serves, put into `scratch` unchecked. EvaluationError if it serves none."""
    return _REGISTRIES[archive.registry](archive, scratch)


def _check(archive: Archive, file: Path) -> None:
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != archive.sha256:
        raise EvaluationError(
            f"{archive.registry} delivers {archive.project} {archive.version} with SHA-256 {found}, not the pinned "
            f"{archive.sha256}: do not trust it, and check the registry that is configured"
        )


def _unpack(file: Path, into: Path) -> Path:
    """The one top folder of the archive, unpacked. Links and special files stay out."""
    # Python before 3.11.4, such as Debian 12's, has no filters. The hash is pinned in any case.
    filters: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(file) as tar:
        tar.extractall(into, [member for member in tar if member.isreg()], **filters)
    (top,) = into.iterdir()
    return top


def _from_pypi(archive: Archive, scratch: Path) -> Path:
    """The file that the index's page (PEP 503) links to. To download it, pip itself would run the project's build."""
    index = pypi_index()
    file = scratch / "archive"
    with _registry_errors(archive):
        page = httpx.get(f"{index}/{archive.project}/", follow_redirects=True, timeout=_TIMEOUT_S).raise_for_status()
        link = re.search(rf'href="([^"#]+)#sha256={archive.sha256}"', page.text)
        if link is None:
            raise EvaluationError(f"{index} no longer has {archive.project} {archive.version} with the pinned SHA-256")
        url = urljoin(str(page.url), html.unescape(link[1]))
        with httpx.stream("GET", url, follow_redirects=True, timeout=_TIMEOUT_S) as response, file.open("wb") as out:
            for chunk in response.raise_for_status().iter_bytes():
                out.write(chunk)
    return file


def pypi_index() -> str:
    """The address of the index pip would ask."""
    try:
        from pip._internal.models.index import PyPI
    except ImportError as error:
        raise EvaluationError(f"pip is missing: run `{sys.executable} -m ensurepip`") from error
    return os.environ.get("PIP_INDEX_URL", PyPI.simple_url).rstrip("/")


@contextmanager
def _registry_errors(archive: Archive) -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        raise EvaluationError(
            f"cannot fetch {archive.project} {archive.version}: {error}; check the network and proxy settings"
        ) from error


def _from_npm(archive: Archive, scratch: Path) -> Path:
    """The file as npm packs it, which knows the registry and its credentials. No script of the package runs."""
    npm = shutil.which("npm")
    if npm is None:
        raise EvaluationError(f"npm, which fetches {archive.project}, is missing: install Node.js")
    wanted = f"{archive.project}@{archive.version}"
    command = [npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", str(scratch), wanted]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True)
    if done.returncode:
        raise EvaluationError(f"npm cannot fetch {wanted}: {done.stderr.strip()[-300:]}")
    return next(scratch.glob("*.tgz"))


def _from_debian(archive: Archive, scratch: Path) -> Path:
    """The upstream tarball of a source package, fetched by apt, which knows the mirrors; apt unpacks nothing."""
    apt = shutil.which("apt-get")
    if apt is None:
        raise EvaluationError(f"apt-get, which fetches the sources of {archive.project}, is missing: use Debian")
    command = [apt, "source", "--download-only", "-qq", f"{archive.project}={archive.version}"]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True)
    if done.returncode:
        raise EvaluationError(
            f"apt-get cannot fetch the sources of {archive.project} {archive.version} (are there deb-src lines among "
            f"its sources?): {done.stderr.strip()[-300:]}"
        )
    return next(file for file in sorted(scratch.glob("*.orig.tar.*")) if file.suffix != ".asc")


_REGISTRIES: dict[Registry, Callable[[Archive, Path], Path]] = {
    "pypi": _from_pypi,
    "npm": _from_npm,
    "debian": _from_debian,
}
