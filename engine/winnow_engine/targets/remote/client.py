"""HTTP to one server: its key, deadlines, retries, and a named error for whatever goes wrong."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from winnow_engine.errors import (
    BudgetError,
    NotJsonError,
    TargetProtocolError,
    TargetRefusedError,
    TargetTimeoutError,
    TargetUnreachableError,
    WinnowError,
)
from winnow_engine.targets.remote.address import KEY_VARIABLE, Address
from winnow_engine.targets.remote.failures import failure
from winnow_engine.targets.remote.framing import Framing
from winnow_engine.untrusted import read_json

_MOST_BYTES = 4 << 20  # of a response that is read as a whole
_MOST_ERROR_BYTES = 64 << 10
_RETRIED = (429, 500, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Deadlines and pauses between attempts, in seconds; `after_last_s` is for usage behind an answer."""

    connect_s: float = 5.0
    short_s: float = 10.0  # for an answer that is no stream
    first_token_s: float = 600.0
    between_tokens_s: float = 60.0
    after_last_s: float = 2.0
    retries: tuple[float, ...] = (0.25, 1.0)
    retry_after_s: float = 10.0  # the longest pause that a server may ask for

    def next_s(self, tools: bool) -> float:
        """Seconds to wait for more of an answer. With tools, a server may hold a call back until it is complete."""
        return self.first_token_s if tools else self.between_tokens_s


class Client:
    """Connections to one server, within `async with`. Methods raise `failures.failure`'s and Target…Error."""

    def __init__(self, address: Address, key: str | None, policy: RetryPolicy, tls: ssl.SSLContext) -> None:
        self.address, self.policy = address, policy
        self._key = key
        try:
            self._http = httpx.AsyncClient(
                headers=_headers(key),
                verify=tls,
                timeout=httpx.Timeout(None, connect=policy.connect_s),
                trust_env=not address.loopback,  # a proxy must not get what is meant for this machine
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise TargetUnreachableError(
                f"cannot reach the target at {address.host} by the proxy that the environment names: {error}"
            ) from error

    async def __aenter__(self) -> Client:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._http.__aexit__(*raised)

    async def get(self, url: str, policy: RetryPolicy | None = None) -> Any:
        """The JSON at `url`, by a `policy` of its own if given."""
        return await self._whole(self._http.build_request("GET", url), policy or self.policy)

    async def post(self, url: str, document: Mapping[str, Any]) -> Any:
        """The JSON that answers `document`."""
        return await self._whole(self._post(url, document), self.policy)

    @asynccontextmanager
    async def stream(
        self, url: str, document: Mapping[str, Any], framing: Framing
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Events that answer `document`, to the end or a break. Leaving early closes the connection."""
        response = await self._sent(self._post(url, document), self.policy)
        try:
            self._check_type(response)
            yield framing(_until_broken(response.aiter_bytes()))
        finally:
            await response.aclose()

    def _post(self, url: str, document: Mapping[str, Any]) -> httpx.Request:
        """The request in ASCII: httpx's own JSON is UTF-8, which cannot hold half a surrogate pair."""
        content = json.dumps(document).encode()
        return self._http.build_request("POST", url, content=content, headers={"Content-Type": "application/json"})

    async def _whole(self, request: httpx.Request, policy: RetryPolicy) -> Any:
        try:
            async with asyncio.timeout(policy.short_s):
                response = await self._sent(request, policy)
                try:
                    self._check_type(response)
                    body = await self._body(response, _MOST_BYTES)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise TargetTimeoutError(
                f"{self.address.host} did not answer {request.url.path} within {policy.short_s:g} s"
            ) from None
        try:
            return read_json(body)
        except NotJsonError as error:
            raise TargetProtocolError(
                f"{self.address.host} sent something that is not JSON at {request.url.path}"
            ) from error

    async def _sent(self, request: httpx.Request, policy: RetryPolicy) -> httpx.Response:
        """The response, with its body unread, after as many attempts as `policy` allows."""
        for pause in (*policy.retries, None):
            try:
                response = await self._http.send(request, stream=True)
            except httpx.TransportError as raised:
                why = str(raised) or type(raised).__name__
                error: WinnowError = TargetUnreachableError(
                    f"cannot reach the target at {self.address.host}: {why}; is its server running?"
                )
                asked: float | None = 0.0
            else:
                if response.status_code == httpx.codes.OK:
                    return response
                error = await self._refusal(response)
                asked = self._worth_waiting(response, error)
            if pause is None or asked is None:
                raise error
            await asyncio.sleep(max(pause, asked))
        raise AssertionError("the last attempt returns or raises")

    async def _refusal(self, response: httpx.Response) -> WinnowError:
        """The error that a response other than 200 stands for."""
        try:
            async with asyncio.timeout(self.policy.short_s):
                body = await self._body(response, _MOST_ERROR_BYTES)
        except (TimeoutError, TargetProtocolError):
            body = b""  # the status says enough
        finally:
            await response.aclose()
        if self._key:  # some servers repeat it when they refuse it
            body = body.replace(self._key.encode(), "…".encode())
        return failure(self.address, response.status_code, body, response.headers.get("location", ""))

    def _worth_waiting(self, response: httpx.Response, error: WinnowError) -> float | None:
        """The seconds that the server asks us to wait before another attempt; None if another would not help."""
        if response.status_code not in _RETRIED or isinstance(error, BudgetError):
            return None
        asked = _seconds(response.headers.get("retry-after", ""))
        return asked if asked <= self.policy.retry_after_s else None

    async def _body(self, response: httpx.Response, most: int) -> bytes:
        body = b""
        try:
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > most:
                    raise TargetProtocolError(f"{self.address.host} sent over {most:,} bytes")
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise TargetProtocolError(
                f"{self.address.host} broke off in the middle of its answer ({type(error).__name__})"
            ) from error
        return body

    def _check_type(self, response: httpx.Response) -> None:
        """Refuse pages for people. Other types say little: servers send events as text, or with no type at all."""
        found = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if found in ("text/html", "application/xhtml+xml"):
            raise TargetProtocolError(
                f"{self.address.host} sent {found} instead of JSON: is there an OpenAI API at {self.address.base}?"
            )


async def _until_broken(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    with suppress(httpx.TransportError, httpx.DecodingError):
        async for piece in pieces:
            yield piece


def _headers(key: str | None) -> dict[str, str]:
    if key is None:
        return {}
    if not (key.isascii() and key.isprintable()):
        raise TargetRefusedError(f"{KEY_VARIABLE} holds characters that a header cannot carry: set it again")
    return {"Authorization": f"Bearer {key}"}


def _seconds(retry_after: str) -> float:
    """A Retry-After header in seconds: 0 if it is missing, infinite if it is a date."""
    if not retry_after:
        return 0.0
    return float(retry_after) if retry_after.strip().isdecimal() else float("inf")
