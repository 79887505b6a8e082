"""Addresses to serve on: as options, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from winnow_lsp.http.guard import Guard

Address = tuple[str, int]
_ADDRESS = re.compile(r"(?:(?P<host>[^:]+|\[[0-9a-fA-F:]+\]):)?(?P<port>\d{1,5})")


def address_option(name: str, meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that takes an address of this machine to serve on."""
    return click.option(name, metavar="[HOST:]PORT", callback=_address, help=meaning)


def _address(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Address | None:
    if value is None:
        return None
    match = _ADDRESS.fullmatch(value)
    if match is None or int(match["port"]) > 65535:
        raise click.BadParameter(f"{value!r} is not PORT or HOST:PORT")
    return (match["host"] or "127.0.0.1").strip("[]"), int(match["port"])


def guard_for(address: Address, origins: Sequence[str] = ()) -> Guard:
    """The guard of an address, which lets in pages of `origins`. A usage error if anybody could ask there."""
    from winnow_lsp.http.guard import Guard

    try:
        return Guard.of(address[0], origins)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


@contextmanager
def bound(host: str, port: int) -> Iterator[None]:
    """Turn an address that cannot be had into a usage error."""
    try:
        yield
    except OSError as error:
        raise click.UsageError(f"cannot serve on {host}:{port}: {error.strerror or error}") from error


def say_ready(host: str, port: int) -> None:
    """Say where the server can be reached."""
    click.echo(f"winnow: serving on {host}:{port}", err=True)
