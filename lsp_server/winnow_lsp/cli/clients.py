"""`winnow mcp install` and `uninstall`: set an agent up to start `winnow mcp`, and undo that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from winnow_lsp.cli.agent_options import agent_options, given
from winnow_lsp.mcp import setup

_client = click.argument("client", type=click.Choice(list(setup.AGENTS)))
_project = click.option(
    "--project/--user", help="In the project in this folder, or for all that you work on.  [default: user]"
)


@click.command()
@_client
@_project
@click.option("--print", "printed", is_flag=True, help="Only show what the configuration needs.")
@agent_options(file=False)
@click.pass_context
def install(context: click.Context, /, client: str, project: bool, printed: bool, **options: Any) -> None:
    """Add `winnow mcp`, with these options, to the configuration of CLIENT by its own command.

    Where it has none, what to add is shown.
    """
    agent, folder = setup.AGENTS[client], Path.cwd() if project else None
    path = setup.place(agent, folder)
    command = [setup.executable(), "mcp", *given(context, options)]
    if printed or not setup.install(agent, command, folder):
        click.echo(f"{path} needs:" if printed else f"Nothing was changed. Add this to {path}:", err=True)
        click.echo(setup.snippet(agent, command), nl=False)
    else:
        click.echo(f"{agent.title} has Winnow now. {agent.then}")


@click.command()
@_client
@_project
def uninstall(client: str, project: bool) -> None:
    """Take `winnow mcp` out of the configuration of CLIENT."""
    agent, folder = setup.AGENTS[client], Path.cwd() if project else None
    path = setup.place(agent, folder)
    if setup.uninstall(agent, folder):
        click.echo(f"{agent.title} does not have Winnow any more.")
    else:
        click.echo(f'Nothing was changed. Take "{setup.NAME}" out of {path}.', err=True)
