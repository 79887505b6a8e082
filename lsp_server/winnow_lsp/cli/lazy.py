"""Command groups that import a subcommand's module only when it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A group whose help need not wait for what its subcommands import, such as NumPy."""

    def __init__(
        self, *args: Any, summaries: Mapping[str, str], load: Callable[[str], click.Command], **kwargs: Any
    ) -> None:
        """`summaries` has a line of help for each subcommand; `load` imports a subcommand by its name."""
        super().__init__(*args, **kwargs)
        self._summaries, self._load = summaries, load

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The subcommands, in the order of their summaries."""
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A subcommand, imported now; None if there is none of that name."""
        return self._load(cmd_name) if cmd_name in self._summaries else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of subcommands from their summaries, and options."""
        found = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        own = [CompletionItem(name, help=self._summaries[name]) for name in found]
        return own + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summaries[name]) for name in self.list_commands(ctx)])
