"""Which requests may be answered: the right host, the token where one is needed, JSON of a limited size."""

from __future__ import annotations

import hmac
import os
from dataclasses import dataclass

from starlette.requests import Request

from winnow_engine.targets.remote.address import is_loopback
from winnow_lsp.http.errors import ApiError

TOKEN_VARIABLE = "WINNOW_HTTP_TOKEN"
MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules of one server. Without a token, only programs on this machine may ask."""

    token: str | None

    @classmethod
    def of(cls, host: str) -> Guard:
        """The rules for serving on `host`, with the token of the environment.

        Raises ValueError if `host` is more than this machine and there is no token.
        """
        token = os.environ.get(TOKEN_VARIABLE, "").strip() or None
        if token is None and not is_loopback(host):
            raise ValueError(
                f"{host} can be reached from other machines: put a token that they must send into {TOKEN_VARIABLE}"
            )
        return cls(token)

    def check(self, request: Request) -> None:
        """Raise ApiError for a request that may not be answered."""
        if self.token is not None:
            _check_token(request, self.token)
        else:
            _check_host(request.headers.get("host", ""))

    async def body(self, request: Request) -> bytes:
        """A request's body. Raises ApiError if its content type is not JSON or it is too long."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":  # any other type, a page of another origin may send without a preflight request
            raise ApiError(415, f"the content type must be application/json, not {kind or 'missing'}")
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BYTES:
                raise ApiError(413, f"the body is over {MOST_BYTES:,} bytes", code="request_too_large")
        return bytes(body)


def _check_token(request: Request, token: str) -> None:
    """The token comes as OpenAI's clients send it (Authorization: Bearer), or as Anthropic's do (x-api-key)."""
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        sent = request.headers.get("x-api-key", "")
    if not hmac.compare_digest(sent.strip().encode(), token.encode()):
        raise ApiError(401, "the bearer token is missing or wrong", code="invalid_api_key")


def _check_host(header: str) -> None:
    """Refuse a page whose name was made to resolve to this machine (DNS rebinding): it sends its own name."""
    name = header[1:].partition("]")[0] if header.startswith("[") else header.partition(":")[0]
    if not is_loopback(name.lower()):
        raise ApiError(403, f"this server is for this machine; it is not called {name!r}", code="wrong_host")
