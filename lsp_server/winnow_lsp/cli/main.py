"""The command's entry: subcommands, loaded when called for, and exit codes."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from types import ModuleType

import click

from winnow_engine.errors import (
    BudgetError,
    CancelledError,
    ModelError,
    PositionError,
    ProfileError,
    TargetAddressError,
    WinnowError,
    WorkspaceError,
)
from winnow_lsp.process import prepare

EXIT_CODES: tuple[tuple[type[WinnowError], int], ...] = (
    (CancelledError, 130),
    (WorkspaceError, 4),
    (ModelError, 3),
    (ProfileError, 3),
    (PositionError, 2),
    (BudgetError, 2),
    (TargetAddressError, 2),
    (WinnowError, 1),
)

_COMMANDS = {
    "ask": "Answer a question about a repository.",
    "spans": "Show which code would be kept for a question, without asking the target.",
    "index": "Bring the index of a repository up to date, or explain why a file is left out.",
    "serve": "Run the language server for editors, or OpenAI's chat API for other programs.",
    "calibrate": "Make the profile of a drafter that Winnow ships none for.",
    "models": "List, pull and verify model files.",
    "bench": "Measure Winnow: what it keeps, and how fast its kernels are.",
    "train": "Train the adapter that makes a language model a drafter.",
    "doctor": "Say what works on this machine, what is missing, and how to get it.",
}


_RESEARCH = ("bench", "train", "calibrate")
"""Commands of a package of its own, which those who only ask do not install."""


def _research(command: str) -> ModuleType:
    if importlib.util.find_spec("winnow_research") is None:
        raise click.ClickException(
            f"`winnow {command}` is part of the package winnow-research, which is not installed: "
            "in a checkout of Winnow, run `pip install -e ./engine/winnow_research`"
        )
    return importlib.import_module(f"winnow_research.cli.{command}")


class _LazyGroup(click.Group):
    """Imports a subcommand's module only when it is called: `winnow --help` need not wait for NumPy."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = _research(cmd_name) if cmd_name in _RESEARCH else importlib.import_module(f"winnow_lsp.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="winnow-lsp", prog_name="winnow")
def winnow() -> None:
    """Ask your repository anything, on your own machine.

    Exit codes: 0 answered, 1 the target failed, 2 usage, 3 no model, 4 workspace unreadable, 130 cancelled.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; errors the user can meet become one line on stderr."""
    prepare()
    try:
        code = winnow.main(arguments, prog_name="winnow", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _say("cancelled", 130)
    except WinnowError as error:
        return _say(str(error), next(code for kind, code in EXIT_CODES if isinstance(error, kind)))
    return code if isinstance(code, int) else 0


def _say(message: str, code: int) -> int:
    click.echo(f"winnow: {message}", err=True)
    return code
