"""`winnow help`: the help of a command, as `winnow COMMAND --help` prints it."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def _commands(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    assert context.parent is not None
    return context.parent.command.shell_complete(context.parent, incomplete)


@click.command()
@click.argument("names", metavar="[COMMAND]...", nargs=-1, shell_complete=_commands)
@click.pass_context
def help(context: click.Context, names: tuple[str, ...]) -> None:
    """Show the help of a command."""
    assert context.parent is not None
    context.parent.command.main([*names, "--help"], prog_name="winnow", standalone_mode=False)
