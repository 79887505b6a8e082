"""`winnow serve`: the language server, the server that commands share, and APIs for other programs."""

from __future__ import annotations

import asyncio
import importlib
import logging
from contextlib import closing
from typing import Any

import click

from winnow_engine.chat.complete import DEFAULT_BUDGET
from winnow_engine.storage.store import Store, default_path
from winnow_engine.targets.remote.address import is_loopback
from winnow_lsp.cli.addresses import Address, address_option, bound, guard_for, say_ready
from winnow_lsp.cli.in_process import check_models
from winnow_lsp.cli.options import on_command_line
from winnow_lsp.cli.setting_options import setting_options, user_settings
from winnow_lsp.host.engines import Engines
from winnow_lsp.host.settings import BY_NAME, Settings
from winnow_lsp.host.socket_path import server_files
from winnow_lsp.server.serving import IDLE_S, serve_shared, server_maker
from winnow_lsp.server.wire.transport import Serve, serve_stdio, serve_tcp

_LEVELS = ["error", "warning", "info", "debug"]


@click.command()
@click.option("--stdio", is_flag=True, help="Serve editors on standard streams; the default.")
@address_option("--tcp", "Serve editors on a socket; 0: a free port.")
@address_option("--http", "Serve OpenAI's and Anthropic's APIs.")
@click.option("--shared", is_flag=True, help="Serve `winnow ask`, which starts this itself.")
@click.option(
    "--idle",
    type=click.FloatRange(0, min_open=True),
    metavar="MINUTES",
    default=IDLE_S / 60,
    show_default=True,
    help="Minutes without a client until a shared server ends.",
)
@click.option("--status", is_flag=True, help="Say what the shared server has loaded.")
@click.option("--stop", is_flag=True, help="End the shared servers, also those of other versions.")
@click.option("--log-level", type=click.Choice(_LEVELS), metavar="LEVEL", default="warning", show_default=True)
@setting_options("drafter", "target", file=False)
@click.option(
    "--budget",
    type=click.IntRange(1),
    metavar="TOKENS",
    default=DEFAULT_BUDGET,
    show_default=True,
    help="Tokens of a conversation to keep.",
)
@click.option(
    "--model-alias",
    metavar="NAME",
    multiple=True,
    help="Another name of the model for --http, or a pattern such as 'claude-*'; may be repeated.",
)
@click.option(
    "--allow-origin",
    metavar="ORIGIN",
    multiple=True,
    help="Let pages of http://localhost:PORT use --http; may be repeated.",
)
@click.pass_context
def serve(
    context: click.Context, /, stdio: bool, shared: bool, status: bool, stop: bool, log_level: str, **options: Any
) -> int:
    """Run the language server for editors, or with --http for other programs; see docs/protocol.md and docs/http.md.

    The options of models and budget go with --http: editors send theirs as settings.
    """
    tcp: Address | None = options["tcp"]
    http: Address | None = options["http"]
    if stdio + shared + status + stop + (tcp is not None) + (http is not None) > 1:
        raise click.UsageError("--stdio, --tcp, --http, --shared, --status and --stop exclude each other")
    if status or stop:
        from winnow_lsp.cli.shared_server import show
        from winnow_lsp.cli.shared_server import stop as stop_shared

        return show() if status else stop_shared()
    _log_to_stderr(log_level)
    if http is not None:
        return _serve_http(http, options)
    for name in on_command_line(context):
        if name in ("--drafter", "--target", "--set", "--budget", "--model-alias", "--allow-origin"):
            raise click.UsageError(f"{name} goes with --http; editors send it as a setting")
    if tcp is not None and not is_loopback(tcp[0]):
        raise click.UsageError(
            f"{tcp[0]} can be reached from other machines, and who connects may read your files: serve on 127.0.0.1, "
            "and tunnel to it (ssh -L)"
        )
    with closing(Store(default_path())) as store:
        if shared:
            asyncio.run(serve_shared(store, server_files(), 60 * options["idle"], _agents))
            return 0
        make_server = server_maker(Engines(store))
        if tcp is None:
            return asyncio.run(serve_stdio(make_server))
        with bound(*tcp):
            asyncio.run(serve_tcp(make_server, *tcp, say_ready))
    return 0


def _agents(engines: Engines) -> Serve:
    """Serves agents; what that needs is imported when the first one comes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = await asyncio.to_thread(importlib.import_module, "winnow_lsp.mcp.serving")
        await serving.serve_agent(engines, reader, writer)

    return serve


def _serve_http(address: Address, options: dict[str, Any]) -> int:
    from winnow_lsp.http.app import serve_http

    guard = guard_for(address, options["allow_origin"])
    for name in options["settings"]:
        if not BY_NAME[name].field.startswith("models."):
            raise click.UsageError(f"--set {name} has no effect with --http, which takes settings of models only")
    models = Settings.of(user_settings() | options["settings"]).models
    check_models(models)  # models that are not there must not wait for the first request
    with closing(Store(default_path())) as store, bound(*address):
        store.max_bytes = models.index_bytes
        serve_http(models, store, options["budget"], *address, guard, say_ready, options["model_alias"])
    return 0


def _log_to_stderr(level: str) -> None:
    logging.basicConfig(level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if level != "debug":  # pygls logs every refused request with a traceback, httpx each request to a target
        logging.getLogger("pygls").setLevel(logging.CRITICAL)
        logging.getLogger("httpx").setLevel(logging.WARNING)
