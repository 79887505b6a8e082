"""`winnow mcp install` and `uninstall`: set an agent up to start `winnow mcp`, and undo that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from winnow_lsp.cli.options import config_of
from winnow_lsp.cli.serving import given, serving_options
from winnow_lsp.mcp.setup.clients import CLIENTS, Machine
from winnow_lsp.mcp.setup.installing import Change, apply, executable, installed, place, snippet, uninstalled

_client = click.argument("client", type=click.Choice(list(CLIENTS)))
_project = click.option(
    "--project/--user", help="In the project in this folder, or for all that you work on.  [default: user]"
)


@click.command()
@_client
@_project
@click.option("--print", "printed", is_flag=True, help="Only show what the configuration needs.")
@serving_options
@click.pass_context
def install(context: click.Context, /, client: str, project: bool, printed: bool, **options: Any) -> None:
    """Add `winnow mcp`, with these options, to the configuration of CLIENT; what is there stays as it is."""
    config_of(options)  # a value out of range is an error before anything is written
    agent = CLIENTS[client]
    path = place(agent, Path.cwd() if project else None, Machine())
    command = [executable(), "mcp", *given(context, "client", "project", "printed")]
    if printed:
        click.echo(f"{path} needs:", err=True)
        click.echo(snippet(agent, command), nl=False)
        return
    change = installed(agent, path, command)
    _say(change, f"{agent.title} has Winnow now, in {change.path}. {agent.then}", f"{path} has Winnow already.")


@click.command()
@_client
@_project
def uninstall(client: str, project: bool) -> None:
    """Take `winnow mcp` out of the configuration of CLIENT."""
    agent = CLIENTS[client]
    path = place(agent, Path.cwd() if project else None, Machine())
    change = uninstalled(agent, path)
    what = "removed the file" if change.after is None else f"took it out of {change.path}"
    _say(change, f"{agent.title} does not have Winnow any more: {what}.", f"{path} does not have Winnow.")


def _say(change: Change, done: str, nothing: str) -> None:
    """Make the change and tell what was done."""
    made = apply(change)
    click.echo(nothing if change.after == change.before else done)
    if made:
        click.echo(f"{made[0]} did not exist and was made: is the program installed, for this user?", err=True)
