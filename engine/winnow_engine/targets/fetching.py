"""Models from a hub or a URL: chosen, described and checked by their first bytes, then pulled."""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from gguf.constants import MODEL_ARCH_NAMES

from winnow_engine.core import ProgressSink
from winnow_engine.errors import DownloadError, ModelError, ModelNotFoundError, UnsupportedModelError
from winnow_engine.llama.model import LlamaModel
from winnow_engine.models import hub
from winnow_engine.models.cache import FileState, part_of, quick_state
from winnow_engine.models.gguf_header import GgufHeader, read_start
from winnow_engine.models.names import PREFIX, HubName, checked_path, part_count, quantisation
from winnow_engine.models.pull import pull
from winnow_engine.models.registry import HubSource, ModelFile
from winnow_engine.targets.remote.address import is_loopback

_FIRST_BYTES, _MOST_FIRST_BYTES = 4 << 20, 256 << 20
_HEADROOM_BYTES = 300_000_000
_MOST_BYTES = 1 << 43  # file systems have a limit


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be fetched: its files, and what its server and its header say of it."""

    name: str
    files: tuple[ModelFile, ...]
    licence: str
    architecture: str
    context: int

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files)

    def __str__(self) -> str:
        parts = f" in {len(self.files)} files" if len(self.files) > 1 else ""
        return (
            f"{self.name}: {self.bytes / 1e9:.1f} GB{parts}, {quantisation(self.files[0].file)}, {self.architecture}, "
            f"context {self.context:,} tokens, licence {self.licence}"
        )


def offer(source: str) -> Offer:
    """The model at a source. DownloadError, ModelNotFoundError, UnsupportedModelError if llama.cpp cannot run it."""
    source, files, licence = _found(source)
    header = _checked_header(source, files[0])
    return Offer(source, files, licence, header.architecture, header.context_length)


def _found(source: str) -> tuple[str, tuple[ModelFile, ...], str]:
    """The name, files and licence of a model. A file's address on the hub becomes a name, if that means this file."""
    if source.startswith(PREFIX):
        return (source, *_hub_files(HubName.parse(source)))
    if on_hub := hub.place_on_hub(source):
        with suppress(ModelNotFoundError):
            found = _found(f"{PREFIX}{on_hub[0]}:{quantisation(on_hub[1])}")
            if any(file.file == "/".join(on_hub) for file in found[1]):
                return found
        source = hub.file_url(*on_hub, "main")
    return source, _url_file(source), "unknown"


def fetch(offered: Offer, directory: Path, progress: ProgressSink) -> Path:
    """Pull an offered model; returns its first file. DownloadError, with a part to continue."""
    lacking = [file for file in offered.files if quick_state(file, directory) is not FileState.OK]
    parts = [part for file in lacking if (part := part_of(file, directory)).exists()]
    need = sum(file.bytes for file in lacking) - sum(part.stat().st_size for part in parts) + _HEADROOM_BYTES
    directory.mkdir(parents=True, exist_ok=True)
    if lacking and (free := shutil.disk_usage(directory).free) < need:
        raise DownloadError(f"{offered.name} needs {need:,} free bytes in {directory}, which has {free:,}")
    first, *_ = [pull(file, directory, progress) for file in offered.files]
    return first


def _hub_files(name: HubName) -> tuple[tuple[ModelFile, ...], str]:
    """The files of a model on a hub with their hashes, and its licence."""
    found = hub.repository(name.repository)
    siblings = {str(one.rfilename): one for one in found.siblings or ()}
    chosen, files = name.choose(siblings), list[ModelFile]()
    for path in chosen:
        one = siblings[path]
        size, sha256 = (one.lfs.size, one.lfs.sha256) if one.lfs else (one.size, None)
        if not isinstance(size, int) or not 0 < size <= _MOST_BYTES or not found.sha:
            raise DownloadError(f"the hub does not say how large {path} is")
        file, url = f"{name.repository}/{checked_path(path)}", hub.file_url(name.repository, path, found.sha)
        files.append(_file(str(name), file, size, url, sha256, str(one.blob_id or found.sha)))
    card = found.card_data
    licence = card and (card.get("license_name") or card.get("license"))
    return tuple(files), str(licence or "unknown")


def _url_file(url: str) -> tuple[ModelFile, ...]:
    """The file at a URL. Its bytes cannot be checked against a hash."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise DownloadError(f"{url}: {error}") from error
    name = Path(unquote(parts.path)).name
    host = (parts.hostname or "").strip("[]").replace(":", "_")
    folder = hashlib.sha256(f"{parts.netloc}{parts.path}".rpartition("/")[0].encode()).hexdigest()[:8]
    path = checked_path(f"{host}/{name}").replace("/", f"-{folder}/")
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise DownloadError(f"{url}: write https://")
    if not path.endswith(".gguf") or part_count(path) > 1:
        raise DownloadError(f"{url}: a URL must lead to one whole .gguf file")
    _, size, version = hub.read_start(url, 0, 4)
    if not size or size > _MOST_BYTES:
        raise DownloadError(f"{url}: the server does not say how large the file is")
    return (_file(url, path, size, url, None, version or str(size)),)


def _file(name: str, file: str, size: int, url: str, sha256: str | None, version: str) -> ModelFile:
    return ModelFile(name=name, file=file, bytes=size, sha256=sha256, sources=(HubSource(url),), version=version)


def _checked_header(name: str, file: ModelFile) -> GgufHeader:
    """The header of a model's first file, which llama.cpp here can load."""
    (source,) = file.sources
    assert isinstance(source, HubSource)
    data, end, header = b"", _FIRST_BYTES, None
    while header is None:
        start = len(data)
        data += hub.read_start(source.url, start, end)[0]
        header = read_start(data, Path(file.file))
        if header is None and (len(data) >= min(file.bytes, _MOST_FIRST_BYTES) or len(data) < end):
            raise DownloadError(f"{source.url} is no whole GGUF file: its first {len(data):,} bytes are no header")
        end *= 4
    if part_count(file.file) == 1:
        _try_vocabulary(name, data, file.bytes)
    elif header.architecture not in MODEL_ARCH_NAMES.values():
        raise UnsupportedModelError(f"{name}: llama.cpp does not know the architecture {header.architecture!r}")
    return header


def _try_vocabulary(name: str, start: bytes, size: int) -> None:
    """Have llama.cpp load all but the weights. It looks for other parts of a model that has them."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "model.gguf")
        file.write_bytes(start)
        os.truncate(file, size)
        try:
            LlamaModel(file, vocabulary_only=True).close()
        except ModelError as error:
            raise UnsupportedModelError(str(error).replace(str(file), name)) from error
