"""The URL of a target: which server, which model, and whether the question may go there.

An example is `http://127.0.0.1:8000/v1#MODEL`. The path is where OpenAI's API begins, `/v1` by default. The model
stands behind `#`.
"""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from winnow_engine.errors import TargetAddressError

KEY_VARIABLE = "WINNOW_TARGET_KEY"
PLAIN_VARIABLE = "WINNOW_PLAIN_HTTP_HOSTS"
HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # a server that listens on all addresses prints 0.0.0.0 or ::

_URL = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """A server's API and, if named, a model there. `host` is host and port as people write them."""

    base: str
    host: str
    loopback: bool
    model: str | None = None

    @property
    def root(self) -> str:
        """The URL above `/v1`, where servers have what is not part of OpenAI's API."""
        return self.base.removesuffix("/v1")


def is_url(name: str) -> bool:
    """True for a URL, False for a model's name or a file."""
    return _URL.match(name) is not None


def sent_to(name: str) -> str | None:
    """The host to which the target of this name sends prompts, or None if they stay or it is no valid URL."""
    try:
        address = parse(name) if is_url(name) else None
    except TargetAddressError:
        return None
    return None if address is None or address.loopback else address.host


def parse(url: str) -> Address:
    """Read a URL. TargetAddressError if malformed, with a key, or http to a host not in WINNOW_PLAIN_HTTP_HOSTS."""
    parts = _split(url)
    name = HERE.get(parts.hostname or "", parts.hostname or "")
    port = f":{parts.port}" if parts.port else ""
    shown = f"[{name}]{port}" if ":" in name else f"{name}{port}"
    loopback = is_loopback(name)
    if parts.scheme == "http" and not loopback:
        allowed = [host.strip().lower() for host in os.environ.get(PLAIN_VARIABLE, "").split(",")]
        if name not in allowed:
            raise TargetAddressError(
                f"the target {shown} is another machine, and with plain http everyone on the way can read your code "
                f"and key: use https, tunnel to it (ssh -L), or name it in {PLAIN_VARIABLE} if you trust the network"
            )
    path = parts.path.rstrip("/") or "/v1"
    return Address(f"{parts.scheme}://{shown}{path}", shown, loopback, unquote(parts.fragment) or None)


def is_loopback(host: str) -> bool:
    """True for a host name or address (no port, no brackets) of this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        sound = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    # What follows may hold a secret: it is not repeated in the message.
    if not sound or any(c.isspace() or not c.isprintable() for c in url):
        raise TargetAddressError("the target's URL is malformed: write http://HOST:PORT/v1#MODEL")
    if parts.username is not None or parts.password is not None or parts.query:
        raise TargetAddressError(
            f"the target's URL must hold no user, password or query: put a key into {KEY_VARIABLE}"
        )
    return parts
