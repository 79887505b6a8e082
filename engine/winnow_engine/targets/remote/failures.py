"""Turns the status and body of a server's refusal into a named error that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from typing import Any

from winnow_engine.errors import (
    BudgetError,
    ModelNotFoundError,
    NotJsonError,
    TargetError,
    TargetProtocolError,
    TargetRefusedError,
    WinnowError,
)
from winnow_engine.targets.remote.address import KEY_VARIABLE, Address
from winnow_engine.untrusted import read_json

MOST_SHOWN = 300
_TOO_LONG = re.compile(
    r"context[_ ](?:length|size|window)|maximum context|exceeds? the (?:available )?context|n_ctx", re.IGNORECASE
)


_PAGE = re.compile(rb"\s*<(?:!doctype |html)()", re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


def failure(address: Address, status: int, body: bytes, location: str = "") -> WinnowError:
    """The error for a status other than 200. `location` is the response's header."""
    said = reason(body)
    if _TOO_LONG.search(said):
        return BudgetError(f"prompt and answer do not fit the target's context: {address.host} says: {said}")
    if status in (401, 403):
        refused = TargetRefusedError(
            f"{address.host} refused access ({status}: {said}): put a valid key into {KEY_VARIABLE}"
        )
        refused.forbidden = status == 403
        return refused
    if status == 404:
        return ModelNotFoundError(
            f"{address.host} has no such model or API at {address.base} ({said}): check the target's URL and model"
        )
    if 300 <= status < 400:
        return TargetProtocolError(
            f"{address.host} redirects to {short(location) or 'nowhere'}, which is not followed: name the final URL"
        )
    if status == 429:
        return TargetError(f"{address.host} is busy ({status}: {said}): try again later")
    error = TargetError(f"{address.host} failed ({status}: {said}): see its log")
    error.said = body
    return error


def refused_fields(said: bytes, names: Iterable[str]) -> set[str]:
    """Those of the fields that a refusal names."""
    text = said.decode("utf-8", "replace")
    return {name for name in names if re.search(rf"(?<![\w.]){re.escape(name)}", text)}


def reason(body: bytes) -> str:
    """The message in an error's body, from `error`, `message`, `detail` or a page's title, in one line."""
    if page := _PAGE.match(body):
        title = _TITLE.search(body)
        return short(unescape((title or page)[1].decode("utf-8", "replace"))) or "a page of HTML"
    try:
        said = _message(read_json(body))
    except NotJsonError:
        said = ""
    return short(said or body.decode("utf-8", "replace")) or "no reason given"


def _message(document: Any) -> str:
    inner = document.get("error", document) if isinstance(document, dict) else document
    if not isinstance(inner, dict):
        return inner if isinstance(inner, str) else ""
    told = inner.get("message") or inner.get("detail")
    if isinstance(told, list):  # as FastAPI refuses what it does not know
        told = "; ".join(f"{one.get('loc')}: {one.get('msg')}" for one in told if isinstance(one, dict))
    parts = [inner.get("code"), told]
    return ": ".join(str(part) for part in parts if isinstance(part, str) and part)


def short(text: str) -> str:
    """The text as one line that can be shown, with at most `MOST_SHOWN` characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]}…"
