"""`winnow serve`: the language server."""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import closing

import click

from winnow_engine.index.store import Store, default_path
from winnow_lsp.server.transport import serve_stdio, serve_tcp

_LEVELS = ["error", "warning", "info", "debug"]
_ADDRESS = re.compile(r"(?:(?P<host>[^:]+|\[[0-9a-fA-F:]+\]):)?(?P<port>\d{1,5})")


def _address(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, int] | None:
    if value is None:
        return None
    match = _ADDRESS.fullmatch(value)
    if match is None or int(match["port"]) > 65535:
        raise click.BadParameter(f"{value!r} is not PORT or HOST:PORT")
    return (match["host"] or "127.0.0.1").strip("[]"), int(match["port"])


@click.command()
@click.option("--stdio", is_flag=True, help="Serve on standard input and output; the default.")
@click.option("--tcp", metavar="[HOST:]PORT", callback=_address, help="Serve on a socket; port 0 takes a free one.")
@click.option("--log-level", type=click.Choice(_LEVELS), default="warning", show_default=True)
def serve(stdio: bool, tcp: tuple[str, int] | None, log_level: str) -> int:
    """Run the language server for editors; see docs/protocol.md for what it speaks."""
    if stdio and tcp:
        raise click.UsageError("--stdio and --tcp exclude each other")
    _log_to_stderr(log_level)
    with closing(Store(default_path())) as store:
        if tcp is None:
            return asyncio.run(serve_stdio(store))
        try:
            asyncio.run(serve_tcp(store, *tcp, ready=_say_ready))
        except OSError as error:
            raise click.UsageError(f"cannot serve on {tcp[0]}:{tcp[1]}: {error.strerror or error}") from error
    return 0


def _say_ready(host: str, port: int) -> None:
    click.echo(f"winnow: serving on {host}:{port}", err=True)


def _log_to_stderr(level: str) -> None:
    logging.basicConfig(level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if level != "debug":  # pygls logs every refused request with a traceback
        logging.getLogger("pygls").setLevel(logging.CRITICAL)
