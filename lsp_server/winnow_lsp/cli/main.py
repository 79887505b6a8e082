"""The command `winnow`: subcommands, whose modules are imported when called, and exit codes."""

from __future__ import annotations

import errno
import importlib
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from click.shell_completion import CompletionItem

from winnow_engine import errors
from winnow_engine.errors import WinnowError
from winnow_lsp.cli.terminal import READER_LEFT, drop_unread_output, prepare_streams, show, use_utf8
from winnow_lsp.process import prepare

EXIT_CODES: tuple[tuple[tuple[type[WinnowError], ...], int], ...] = (
    ((errors.CancelledError,), 130),
    ((errors.PositionError, errors.BudgetError, errors.TargetAddressError), 2),
    ((errors.NothingChangedError, errors.RevisionError), 2),
    ((errors.WorkspaceError, errors.GitError), 4),
    ((errors.ModelError, errors.ProfileError), 3),
    ((WinnowError,), 1),
)
COMPLETES = "_WINNOW_COMPLETE"  # the environment variable by which a shell asks what may follow, as click names it
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO)  # a full or broken disk, of a program that prints to a file
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG)
"""A file that the user named, or one beside it, which cannot be used."""
_COMMANDS = {
    "ask": "Answer a question about a repository.",
    "spans": "Show which code would be kept for a question, without asking the target.",
    "review": "Review what changed before it is committed, or in CI; propose a commit message.",
    "why": "Say why some lines are so, from the commits that shaped them.",
    "when": "Say when something changed, from the messages and the changed code of commits.",
    "mcp": "Serve agents over the Model Context Protocol, or set an agent up for that.",
    "index": "Bring the index of a repository up to date, or explain why a file is left out.",
    "serve": "Run the language server for editors, or OpenAI's and Anthropic's APIs for other programs.",
    "acp": "Answer in an editor's agent panel (Agent Client Protocol).",
    "calibrate": "Make the profile of a drafter that Winnow ships none for.",
    "models": "List, suggest, pull and verify models.",
    "bench": "Measure Winnow: what it keeps, and how fast its kernels are.",
    "train": "Train the adapter that makes a language model a drafter.",
    "help": "Show the help of a command.",
    "doctor": "Say what works on this machine, what is missing, and how to get it.",
}
_RESEARCH = ("bench", "train", "calibrate")  # commands of the package winnow-research
_MODULES = {"spans": "ask", "why": "history", "when": "history"}


class LazyGroup(click.Group):
    """A group whose help need not wait for what its subcommands import, such as NumPy."""

    def __init__(
        self, *args: Any, summaries: Mapping[str, str], load: Callable[[str], click.Command], **kwargs: Any
    ) -> None:
        """`summaries` has a line of help for each subcommand; `load` imports a subcommand by its name."""
        super().__init__(*args, **kwargs)
        self._summaries, self._load = summaries, load
        self.commands = dict.fromkeys(summaries, click.Command(None))  # among them click finds what was meant

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The subcommands, in the order of their summaries."""
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A subcommand, imported now; None if there is none of that name."""
        return self._load(cmd_name) if cmd_name in self._summaries else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of subcommands from their summaries, and options."""
        names = self.list_commands(ctx)
        own = [CompletionItem(name, help=self._summaries[name]) for name in names if name.startswith(incomplete)]
        return own + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summaries[name]) for name in self.list_commands(ctx)])


def _has_research() -> bool:
    return importlib.util.find_spec("winnow_research") is not None


def _research(command: str) -> ModuleType:
    if not _has_research():
        raise click.ClickException(
            f"`winnow {command}` is part of the package winnow-research, which is not installed: "
            "in a checkout of Winnow, run `pip install -e ./engine/winnow_research`"
        )
    return importlib.import_module(f"winnow_research.cli.{command}")


def _load(command: str) -> click.Command:
    if command == "help":
        return help
    place = _MODULES.get(command, command)
    if command == "mcp" and COMPLETES in os.environ:  # it reads its options late
        place, command = "mcp_command", "agents"
    module = _research(command) if command in _RESEARCH else importlib.import_module(f"winnow_lsp.cli.{place}")
    loaded: click.Command = getattr(module, command)
    return loaded


class _Commands(LazyGroup):
    """Winnow's commands; those of the research are listed only where it is installed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands that work here."""
        return [name for name in super().list_commands(ctx) if name not in _RESEARCH or _has_research()]


@click.group(cls=_Commands, summaries=_COMMANDS, load=_load, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "-V", "--version", package_name="winnow-lsp", prog_name="winnow")
def winnow() -> None:
    """Ask your repository anything, on your own machine.

    Exit codes: 0 answered, 1 the target failed, 2 usage, 3 no model, 4 workspace unreadable, 130 cancelled, 141 the
    reader left.
    """


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; errors the user can meet become one line on stderr."""
    if arguments is None:
        use_utf8()
    prepare_streams()
    try:
        return _run(arguments)
    except SystemExit as error:
        if drop_unread_output() or isinstance(error.__context__, BrokenPipeError):  # of click, and of Rich
            return READER_LEFT
        raise


def _run(arguments: Sequence[str] | None) -> int:
    try:
        prepare()
        code = winnow.main(arguments, prog_name="winnow", standalone_mode=False, windows_expand_args=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _say("cancelled", 130)
    except OSError as error:
        return _say(_meaning(error), 1)
    except WinnowError as error:
        return _say(str(error), next(code for kinds, code in EXIT_CODES if isinstance(error, kinds)))
    return code if isinstance(code, int) else 0


def _meaning(error: OSError) -> str:
    """The message for an error that a user can do something about. Raises any other: it is our bug."""
    if error.errno in _UNWRITABLE:
        return f"cannot write {error.filename or 'the output'}: {error.strerror}"
    if error.errno in _FORBIDDEN and error.filename:
        return f"cannot use {error.filename}: {error.strerror}"
    if error.errno == errno.ENOENT and _nowhere():
        return "the working directory is gone: change to one that is there"
    raise error


def _nowhere() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _say(message: str, code: int) -> int:
    show(f"winnow: {message}", err=True)
    return code
