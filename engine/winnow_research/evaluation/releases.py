"""What other releases of a pinned project its registry has."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import httpx
from packaging.version import InvalidVersion, Version

from winnow_engine.errors import EvaluationError
from winnow_research.evaluation import archives
from winnow_research.evaluation.archives import Archive


def released(archive: Archive, newest: str | None = None) -> list[Archive]:
    """The project's final releases by version, up to `newest`; without a hash where the registry tells none.

    EvaluationError if the registry lists no releases.
    """
    if archive.registry not in _LISTED:
        raise EvaluationError(f"{archive.registry} does not list the releases of {archive.project}")
    found = {version: sha for version, sha in _LISTED[archive.registry](archive.project).items() if _is_final(version)}
    ordered = sorted(found, key=Version)
    last = ordered.index(newest) + 1 if newest else len(ordered)
    return [replace(archive, version=version, sha256=found[version]) for version in ordered[:last]]


def hashed(archive: Archive) -> Archive:
    """The archive with the hash of what the registry delivers now, which nothing but that hash vouches for."""
    if archive.sha256:
        return archive
    with tempfile.TemporaryDirectory() as scratch:
        data = archives.fetched(archive, Path(scratch)).read_bytes()
    return replace(archive, sha256=hashlib.sha256(data).hexdigest())


def _is_final(version: str) -> bool:
    try:
        return "-" not in version and not Version(version).is_prerelease
    except InvalidVersion:
        return False


def _on_pypi(project: str) -> dict[str, str]:
    page = httpx.get(f"{archives.pypi_index()}/{project}/", follow_redirects=True, timeout=60).raise_for_status().text
    name = re.sub(r"[-_.]+", "[-_.]+", project)
    return dict(re.findall(rf"/{name}-(\d[^/\"]*?)\.tar\.gz#sha256=([0-9a-f]+)", page, re.IGNORECASE))


def _on_npm(project: str) -> dict[str, str]:
    listed = subprocess.run(["npm", "view", project, "versions", "--json"], capture_output=True, check=True).stdout
    return dict.fromkeys(json.loads(listed), "")


_LISTED = {"pypi": _on_pypi, "npm": _on_npm}
