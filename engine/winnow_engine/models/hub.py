"""Files of a model hub, or at any URL, through `huggingface_hub`: its API, token, mirrors, retries and offline mode.

The library's own download to a folder starts again after an interruption (2.4), and Xet's writes out of order. So what
is used is `http_get`, which both rest on without Xet: it continues a partial file, whichever source began it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

import httpx2
from huggingface_hub import HfApi, constants, get_session, hf_hub_url, hf_raise_for_status, set_client_factory
from huggingface_hub.file_download import http_get
from huggingface_hub.hf_api import ModelInfo
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]
from huggingface_hub.utils._http import default_client_factory

from winnow_engine.errors import DownloadError

# ImportError and ValueError: for a proxy or certificates that cannot be used, and an answer in another form.
# RecursionError: the library calls itself after each interruption.
_FAILURES = (
    httpx2.HTTPError,
    httpx2.InvalidURL,
    ImportError,
    ValueError,
    LookupError,
    TypeError,
    OSError,
    RecursionError,
)
_TIMEOUT = httpx2.Timeout(connect=10, read=30, write=10, pool=10)
_OFFICIAL = "https://huggingface.co/"
_ON_HUB = re.compile(r"([^/]+/[^/]+)/(?:resolve|blob)/main/([^?#]+)([?#].*)?")
constants.DOWNLOAD_CHUNK_SIZE = 1 << 20  # as much as an interruption may lose
constants.HF_HUB_DISABLE_TELEMETRY = True  # which asks the hub for names of agents and tells it which runs here
# The library logs each retry; the error at the end says what failed.
logging.getLogger("huggingface_hub.file_download").setLevel(logging.ERROR)


def _client() -> httpx2.Client:
    """The library's client, which does not leave https."""
    client = default_client_factory()
    client.event_hooks = {**client.event_hooks, "response": [stay_encrypted]}
    return client


def stay_encrypted(response: httpx2.Response) -> None:
    """Refuse a redirect from https to http: to others' networks, or to services of this one. DownloadError."""
    target = response.url.join(response.headers.get("Location", "")) if response.has_redirect_location else response.url
    if response.url.scheme == "https" != target.scheme:
        raise DownloadError(f"{response.url} leads to {target}, which is not https")


set_client_factory(_client)


def repository(name: str) -> ModelInfo:
    """Files of the repository OWNER/REPO with sizes and hashes, its licence and commit. DownloadError."""
    with _named(f"{constants.ENDPOINT}/{name}"):
        return HfApi(endpoint=constants.ENDPOINT).model_info(name, files_metadata=True, timeout=30)


def file_url(name: str, file: str, revision: str) -> str:
    """Address of a file in a repository."""
    with _named(f"{name}/{file}"):
        return hf_hub_url(name, file, revision=revision, endpoint=constants.ENDPOINT)


def on_mirror(url: str) -> str:
    """The official hub's address of a file, moved to `HF_ENDPOINT`."""
    return f"{constants.ENDPOINT}/{url.removeprefix(_OFFICIAL)}" if url.startswith(_OFFICIAL) else url


def place_on_hub(url: str) -> tuple[str, str] | None:
    """The repository and file that the address of a file on the hub names, None for another address."""
    base = f"{constants.ENDPOINT}/"
    found = _ON_HUB.fullmatch(on_mirror(url).removeprefix(base)) if on_mirror(url).startswith(base) else None
    return (found[1], unquote(found[2])) if found else None


def read_start(url: str, start: int, end: int) -> tuple[bytes, int | None, str]:
    """At most the bytes from `start` to `end` of a file, its size and ETag, if told. DownloadError."""
    headers = _headers(url) | {"Range": f"bytes={start}-{end - 1}"}
    with _named(url), get_session().stream("GET", url, headers=headers, timeout=_TIMEOUT) as response:
        if response.is_error:
            response.read()
            hf_raise_for_status(response)
        begins, size = _extent(response)
        data = bytearray()
        for chunk in response.iter_raw(1 << 18):
            data += chunk
            if begins + len(data) >= end:
                break
        return bytes(data[start - begins : end - begins]), size, response.headers.get("ETag", "")


def append(url: str, file: BinaryIO, size: int, received: Callable[[int], None]) -> None:
    """Fetch what `file` still lacks of `size` bytes. DownloadError, also for another size; OSError of the file."""
    _, told, _ = read_start(url, 0, 4)
    if told not in (None, size):
        raise DownloadError(f"{url}: {told} bytes instead of {size}")
    bar = _bar(url, size, received)
    try:
        http_get(url, file, resume_size=file.tell(), headers=_headers(url), expected_size=size, tqdm_class=bar)
    except OSError as error:
        if error.errno is not None:  # the file's, not the network's
            raise
        raise _failure(url, error) from error
    except _FAILURES as error:
        raise _failure(url, error) from error


def _bar(url: str, size: int, received: Callable[[int], None]) -> Any:
    """Stand-in for the library's class of progress bars; it also ends a download that grows beyond its size."""

    class Bar:
        def __init__(self, initial: int = 0, **_: object) -> None:
            self.done = initial

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def update(self, count: int) -> None:
            """Count received bytes; fewer, if a server sends the file from the start once more."""
            self.done += count
            if self.done > size:
                raise DownloadError(f"{url}: more than {size} bytes")
            received(self.done)

    return Bar


def _headers(url: str) -> dict[str, str]:
    """Headers of a request; the hub alone gets the user's token."""
    own = urlsplit(url)[:2] == urlsplit(constants.ENDPOINT)[:2]
    return {"Accept-Encoding": "identity"} | (build_hf_headers(library_name="winnow") if own else {})


def _extent(response: httpx2.Response) -> tuple[int, int | None]:
    """The body's first byte within the file, and the whole file's size (None if untold)."""
    if response.status_code == httpx2.codes.PARTIAL_CONTENT:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
        return (int(found[1]), int(found[2])) if found else (0, None)
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Turn what the library raises into DownloadError."""
    try:
        yield
    except _FAILURES as error:
        raise _failure(what, error) from error


def _failure(what: str, error: Exception) -> DownloadError:
    return DownloadError(f"{what}: {' '.join(str(error).split()) or type(error).__name__}")
