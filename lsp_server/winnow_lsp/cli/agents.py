"""The options of `winnow mcp`, and what it does: serve agents on standard input and output or over HTTP."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import click

from winnow_engine.core import Cancellation
from winnow_engine.errors import WorkspaceError
from winnow_lsp.cli.addresses import Address, address_option, bound, guard_for, say_ready
from winnow_lsp.cli.agent_options import agent_options, on_command_line
from winnow_lsp.cli.clients import install, uninstall
from winnow_lsp.cli.options import uses_server
from winnow_lsp.cli.setting_options import config_of
from winnow_lsp.cli.shared_server import connected
from winnow_lsp.mcp.relay import AgentRelay


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@agent_options(file=True)
@address_option("--http", "Serve over HTTP; 0 takes a free port.")
@click.pass_context
def agents(context: click.Context, /, server: bool, **options: Any) -> None:
    """Serve agents over the Model Context Protocol; see docs/agents.md.

    The tools are about the folders that the agent's client names, or else about the workspace.
    """
    if context.invoked_subcommand is not None:
        for name in on_command_line(context):
            raise click.UsageError(f"{name} goes behind `{context.invoked_subcommand}`")
        return
    address: Address | None = options["http"]
    if address is not None:
        _serve_http(address, options)
    else:
        _serve_stdio(context.obj, options, shared_server=uses_server(server, options))


def _serve_stdio(agent: AgentRelay, options: dict[str, Any], *, shared_server: bool) -> None:
    def connect() -> socket.socket:
        found = connected(Cancellation(), agent=True) if shared_server else None
        if found is not None:
            return found
        from winnow_lsp.mcp.serving import serve_here

        return serve_here()

    agent.serve(connect, Path(options["workspace"]).resolve(), options["settings"])


def _serve_http(address: Address, options: dict[str, Any]) -> None:
    import asyncio

    from winnow_lsp.mcp.serving import serve_http

    config, guard, workspace = config_of(options), guard_for(address), Path(options["workspace"])
    if not workspace.is_dir():
        raise WorkspaceError(f"there is no folder {workspace}: name the one to serve with --workspace")
    with bound(*address):
        asyncio.run(serve_http(config, workspace, *address, guard, say_ready))


agents.add_command(install)
agents.add_command(uninstall)
