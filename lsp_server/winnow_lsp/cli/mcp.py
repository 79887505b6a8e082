"""`winnow mcp`: greets an agent, then reads its own options, for which much has to be imported."""

from __future__ import annotations

from typing import Any

import click

from winnow_lsp.mcp.relay import AgentRelay

_TOOLS_S = 0.25  # a client that has not asked for the tools by then is no quicker than the imports
_NOT_FOR_AGENTS = ("install", "uninstall", "-h", "--help", "--http")


@click.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def mcp(arguments: tuple[str, ...]) -> Any:
    """Serve agents; `mcp_command.py` has the options."""
    agent = None if any(one.partition("=")[0] in _NOT_FOR_AGENTS for one in arguments) else AgentRelay()
    if agent is not None:
        agent.wait_for_tools(_TOOLS_S)  # an import holds the interpreter for tens of milliseconds at a time
    from winnow_lsp.cli.mcp_command import agents

    return agents.main(list(arguments), prog_name="winnow mcp", standalone_mode=False, obj=agent)
