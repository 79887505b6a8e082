"""Downloads a model file over HTTPS, from any byte on."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

import httpx

from winnow_engine.errors import DownloadError

_TIMEOUT = httpx.Timeout(connect=10, read=30, write=10, pool=10)
_CHUNK = 1 << 18
# The last three: what httpx raises for a proxy or a file of certificates that it cannot use.
_FAILURES = (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError, OSError)


def read(url: str, offset: int, total: int) -> Generator[bytes, None, None]:
    """Bytes `offset` to `total` of the file at `url`, in chunks; redirects are followed.

    Raises DownloadError if the server cannot be reached, refuses, breaks off, or serves another size, such as a log-in
    page.
    """
    headers = {"Range": f"bytes={offset}-", "Accept-Encoding": "identity"}
    try:
        with httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=_TIMEOUT) as response:
            if not response.is_success:
                raise DownloadError(f"{url}: HTTP {response.status_code} {response.reason_phrase}")
            start, size = _extent(response)
            if size != total or start not in (0, offset):
                raise DownloadError(f"{url}: bytes from {start} of {size} instead of from {offset} of {total}")
            yield from _skip(response.iter_bytes(_CHUNK), offset - start)
    except _FAILURES as error:
        raise DownloadError(f"{url}: {str(error) or type(error).__name__}") from error


def _extent(response: httpx.Response) -> tuple[int, int | None]:
    """The body's first byte within the file, and the whole file's size (None if untold)."""
    if response.status_code == httpx.codes.PARTIAL_CONTENT:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
        return (int(found[1]), int(found[2])) if found else (0, None)
    length = response.headers.get("Content-Length")
    return 0, int(length) if length else None


def _skip(chunks: Iterator[bytes], count: int) -> Iterator[bytes]:
    """The stream without its first `count` bytes: a server that ignores Range sends them again."""
    for chunk in chunks:
        rest = chunk[count:]
        count = max(0, count - len(chunk))
        if rest:
            yield rest
