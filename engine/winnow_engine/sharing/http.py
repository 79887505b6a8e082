"""A shared index behind an HTTP server."""

from __future__ import annotations

import httpx

from winnow_engine.errors import SharedIndexError

_CONNECT_S, _READ_S = 5.0, 30.0
_WHOLE, _PART = 200, 206
_UNUSABLE = (ImportError, ValueError, OSError, httpx.InvalidURL)


class HttpFiles:
    """Files on a server. One that cannot send parts sends files whole, and the last one is kept."""

    def __init__(self, url: str) -> None:
        """Raises SharedIndexError if a proxy or certificate file that the environment names cannot be used."""
        self._url = url.rstrip("/")
        try:
            self._http = httpx.Client(timeout=httpx.Timeout(_READ_S, connect=_CONNECT_S), follow_redirects=False)
        except _UNUSABLE as error:
            raise SharedIndexError(f"its server cannot be reached by what the environment names: {error}") from error
        self._last: tuple[str, bytes] | None = None

    def whole(self, name: str, most_bytes: int) -> bytes:
        """See `IndexFiles`."""
        return self._get(name, {}, most_bytes, _WHOLE)[1]

    def part(self, name: str, start: int, stop: int, file_bytes: int) -> bytes:
        """See `IndexFiles`."""
        if self._last is None or self._last[0] != name:
            status, data = self._get(name, {"Range": f"bytes={start}-{stop - 1}"}, file_bytes, _PART, _WHOLE)
            if status == _PART:
                return data
            self._last = name, data
        return self._last[1][start:stop]

    def _get(self, name: str, headers: dict[str, str], most_bytes: int, *allowed: int) -> tuple[int, bytes]:
        try:
            with self._http.stream("GET", f"{self._url}/{name}", headers=headers) as answer:
                if answer.status_code not in allowed:
                    raise SharedIndexError(f"the server answers {answer.status_code} for {name}")
                return answer.status_code, _bounded(name, answer, most_bytes)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SharedIndexError(f"{name} cannot be fetched: {error}") from error


def _bounded(name: str, answer: httpx.Response, most_bytes: int) -> bytes:
    parts, size = list[bytes](), 0
    for part in answer.iter_bytes():
        size += len(part)
        if size > most_bytes:
            raise SharedIndexError(f"{name} has more than {most_bytes:,} bytes")
        parts.append(part)
    return b"".join(parts)
