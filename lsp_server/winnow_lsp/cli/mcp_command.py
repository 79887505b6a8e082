"""`winnow mcp`: serve agents on standard input and output or over HTTP, or set an agent up for that."""

from __future__ import annotations

import re
import socket
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from winnow_engine.core import Cancellation
from winnow_engine.errors import WorkspaceError
from winnow_engine.targets.remote.address import is_url, parse
from winnow_lsp.cli.addresses import Address, address_option, bound, guard_for, say_ready
from winnow_lsp.cli.options import on_command_line, server_option, uses_server, workspace_option
from winnow_lsp.cli.setting_options import Decorator, config_of, environment_models, setting_options, shared, written
from winnow_lsp.cli.shared_server import connected
from winnow_lsp.mcp import setup
from winnow_lsp.mcp.relay import AgentRelay
from winnow_lsp.mcp.setup_files import NAME, Entry


class _Client(click.Choice[str]):
    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        words = {name: (name, one.title, one.program) for name, one in setup.AGENTS.items()}
        names = {_letters(word): name for name, spelt in words.items() for word in spelt if word}
        if (name := names.get(_letters(value))) is not None:
            return name
        near = get_close_matches(_letters(value), names, n=1)
        hint = f" Did you mean {names[near[0]]}?" if near else ""
        self.fail(f"{value!r} is not one of {', '.join(self.choices)}.{hint}", param, ctx)


def _letters(text: str) -> str:
    return re.sub("[^a-z]", "", text.lower())


_client = click.argument("client", type=_Client(list(setup.AGENTS)), metavar="CLIENT")
_CLIENTS = f"CLIENT is one of {', '.join(setup.AGENTS)}."
_project = click.option(
    "--project/--user", help="In the project in this folder, or for all that you work on.  [default: user]"
)


def _options(*, file: bool) -> Decorator:
    """Workspace, models, settings and server; the settings over those in `winnow.toml` if `file` says so."""
    return shared(workspace_option, setting_options("drafter", "target", file=file), server_option)


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@_options(file=True)
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
    if options["http"] is not None:
        _serve_http(options["http"], options)
    else:
        _serve_stdio(context.obj, options, shared_server=uses_server(server, options))


def _serve_stdio(agent: AgentRelay | None, options: dict[str, Any], *, shared_server: bool) -> None:
    def connect() -> socket.socket:
        if shared_server and (found := connected(Cancellation(), agent=True)):
            return found
        from winnow_lsp.mcp.serving import serve_here

        return serve_here()

    (agent or AgentRelay()).serve(connect, Path(options["workspace"]).resolve(), options["settings"])


def _serve_http(address: Address, options: dict[str, Any]) -> None:
    import asyncio

    from winnow_lsp.mcp.serving import serve_http

    config, guard, workspace = config_of(options), guard_for(address), Path(options["workspace"])
    if not workspace.is_dir():
        raise WorkspaceError(f"there is no folder {workspace}: name the one to serve with --workspace")
    with bound(*address):
        asyncio.run(serve_http(config, workspace, *address, guard, say_ready))


@agents.command(epilog=_CLIENTS)
@_client
@_project
@click.option("--print", "printed", is_flag=True, help="Only show what the configuration needs.")
@click.option("--skill", is_flag=True, help="Write a skill, a paragraph of instructions and a sub-agent as well.")
@_options(file=False)
@click.pass_context
def install(context: click.Context, /, client: str, project: bool, printed: bool, skill: bool, **options: Any) -> None:
    """Add `winnow mcp`, with these options, to the configuration of CLIENT.

    What to add is shown where CLIENT is not there, or has a configuration that only it can edit.
    """
    from winnow_lsp.mcp.setup_skill import SKILLS, install_skill

    if skill and client not in SKILLS:
        raise click.UsageError(f"--skill is for {', '.join(SKILLS)}")
    agent, folder = setup.AGENTS[client], Path.cwd() if project else None
    path, entry = setup.place(agent, folder), _entry(context, agent, folder, options)
    outcome = setup.SetupOutcome.BY_HAND if printed else setup.install(agent, entry, folder)
    if outcome is setup.SetupOutcome.BY_HAND:
        click.echo(f"{path} needs:" if printed else f"Nothing was changed. {setup.by_hand(agent, path)}:", err=True)
        click.echo(setup.snippet(agent, entry), nl=False)
    elif outcome is setup.SetupOutcome.ALREADY:
        click.echo(f"{agent.title} has Winnow already.")
    else:
        others = f" Whoever uses {path} needs `winnow` on the PATH." if project else ""
        click.echo(f"{agent.title} has Winnow now. {agent.then}{others}")
    if skill and not printed and setup.is_there(agent, folder):
        _say("wrote", install_skill(client, folder))


@agents.command(epilog=_CLIENTS)
@_client
@_project
def uninstall(client: str, project: bool) -> None:
    """Take `winnow mcp` out of the configuration of CLIENT, and undo --skill."""
    from winnow_lsp.mcp.setup_skill import uninstall_skill

    agent, folder = setup.AGENTS[client], Path.cwd() if project else None
    path, outcome = setup.place(agent, folder), setup.uninstall(agent, folder)
    if outcome is setup.SetupOutcome.BY_HAND:
        click.echo(f'Take "{NAME}" out of {path}: nothing was changed there.', err=True)
    else:
        click.echo(f"{agent.title} does not have Winnow{' any more' if outcome is setup.SetupOutcome.DONE else ''}.")
    _say("undid", uninstall_skill(client, folder))


def _say(done: str, files: list[Path]) -> None:
    for file in files:
        click.echo(f"{done} {file}")


def _entry(context: click.Context, agent: setup.AgentProgram, project: Path | None, options: dict[str, Any]) -> Entry:
    """What an agent's configuration needs, and notices about what it does not get."""
    given, variables = _given(context, options), setup.environment()
    variables |= {f"WINNOW_{name.upper()}": value for name, value in environment_models().items()}
    for target in filter(is_url, (options["settings"].get("target", ""), variables.get("WINNOW_TARGET", ""))):
        parse(target)  # nor does a file get a password
    for name in [*setup.secrets(), *(variables if project else ())]:
        why = "is of this machine" if name in variables else "is secret"
        click.echo(f"{name} {why} and was not written: {agent.title} has to pass it on", err=True)
    if project is not None:
        return agent.entry([NAME, "mcp", *setup.portable(given, project)], {})
    if variables:
        click.echo(f"written with {', '.join(variables)}", err=True)
    return agent.entry([setup.executable(), "mcp", *given], variables)


def _given(context: click.Context, options: dict[str, Any]) -> list[str]:
    """The options that a command was given, with paths that lead there from any folder. Raises WorkspaceError."""
    if not options["workspace"].is_dir():
        raise WorkspaceError(f"there is no folder {options['workspace']}: name the one to search with --workspace")
    names = list(on_command_line(context))
    workspace = [f"--workspace={options['workspace'].absolute()}"] if "--workspace" in names else []
    return [*workspace, *written(options["settings"]), *(name for name in names if name.endswith("-server"))]
