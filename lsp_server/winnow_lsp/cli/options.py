"""Options that several subcommands share, and the question that they and standard input make up."""

from __future__ import annotations

import os
import re
import select
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from winnow_engine.config import FileRules
from winnow_engine.core import Folder
from winnow_engine.errors import PositionError, WorkspaceError
from winnow_engine.git.repository import top_above
from winnow_engine.index.words import UNSPACED
from winnow_engine.platform import is_file, user
from winnow_engine.question import Cursor, Question, about_changes, without_mention
from winnow_engine.targets.remote.address import is_url
from winnow_lsp.cli import completion
from winnow_lsp.cli.setting_options import config_of, setting_options, shared
from winnow_lsp.host.roots import directory_prefix, is_everything, named_folders, workspace_path
from winnow_lsp.host.socket_path import SWITCH
from winnow_lsp.host.user_files import workspace_set

_FIRST_BYTE_S = 10.0  # programs that have nothing to say may pass on a pipe that nobody ever closes
_MOST_INPUT = 1_000_000  # bytes, several times what a target's context holds
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()]\w)")  # of colours, links, fonts
_AT = re.compile(r"(?P<file>.+?)(?::|#L)(?P<start>\d+)(?::\d+)?(?:-L?(?P<end>\d+)(?::\d+)?)?:?")
"""As compilers and links write places. A column says nothing more: units are lines."""
_PART = r"[\w@+/\\\[\]-]{0,100}+"
_FILE = rf"(?<![\w./\\@%+~$-])[\w.@+-]{_PART}(?:(?:\.|(?<=/)\(|\)(?=/)){_PART}){{0,20}}?\.[A-Za-z0-9_]+"
_NAMED = re.compile(rf"""(?<![(=]["'])(?:{_FILE})(?=\.?(?![^\W{UNSPACED}]|[./\\-]))""")
"""A path, but for what code has in quotes: `open("settings.json")`."""
_WITH_LINE = re.compile(rf"{_FILE}(?=:\[?L?\d|\s?\(\d|#L\d|\W{{1,3}}(?:on )?line \d|\s\d+:\d|\r?\n\d+[:-])")
"""A path before its line. Piped code names files without one, as in an import, relative to others."""
workspace_option = click.option(
    "-w",
    "--workspace",
    type=click.Path(path_type=Path),
    default=".",
    help="The repository [.].",
    shell_complete=completion.folders,
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object.")
server_option = click.option(
    "--server/--no-server",
    default=True,
    envvar=SWITCH,
    help="Ask the server that keeps models loaded, or not.  [default: server]",
)


def with_input(question: str | None, folders: Sequence[Folder]) -> str | None:
    """A question with what a pipe or a file on standard input adds to it; `-`, or none, is that text alone."""
    piped = _in_workspace(_WITH_LINE, _read(), folders) if question == "-" or _has_text() else ""
    question = question and _in_workspace(_NAMED, question, folders)
    if not piped.strip():
        return None if question == "-" else question
    if question in (None, "-"):
        return piped
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", piped))])
    return f"{question}\n\n{fence}\n{piped.rstrip()}\n{fence}"


def _in_workspace(paths: re.Pattern[str], text: str, folders: Sequence[Folder]) -> str:
    """The text with workspace paths in place of those that lead to a file from a working directory below the root."""
    here = Path.cwd()

    @cache
    def renamed(path: str) -> str:
        return (is_file(here / path) and workspace_path(folders, here / path)) or path

    return paths.sub(lambda path: renamed(path[0]), text) if directory_prefix(folders, here) else text


def _read() -> str:
    given = sys.stdin.buffer.read(_MOST_INPUT + 1)
    if len(given) > _MOST_INPUT:
        raise click.UsageError(
            f"more than {_MOST_INPUT:,} bytes were piped in: pass on the part that matters, as `tail -c 10000` does"
        )
    from winnow_engine.index.file_text import as_utf8

    return _ESCAPE.sub("", as_utf8(given)[0].decode("utf-8", "replace"))


def _has_input() -> bool:
    """True for a pipe or a file. A socket or /dev/null is what programs that have nothing to say pass on, too.

    A file that is partly read belongs to another program: `while read q; do winnow ask "$q"; done < file`.
    """
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
        untouched = stat.S_ISREG(mode) and os.lseek(sys.stdin.fileno(), 0, os.SEEK_CUR) == 0
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or untouched


def _has_text() -> bool:
    """True once there is input, False if none begins in time."""
    if not _has_input():
        return False
    try:
        begins = bool(select.select([sys.stdin], [], [], _FIRST_BYTE_S)[0])
    except OSError:  # Windows, which waits for sockets only
        return True
    if not begins:
        click.echo(f"winnow: nothing was piped in for {_FIRST_BYTE_S:.0f} s: asking without it", err=True)
    return begins


workspaces_option = click.option(
    "-w",
    "--workspace",
    multiple=True,
    metavar="DIR|@NAME",
    callback=lambda context, _parameter, given: given if given or context.resilient_parsing else (str(_repository()),),
    shell_complete=completion.folders,
    help="The repository [this one], or a set; may be repeated.",
)
place_options = shared(
    click.option(
        "--changes",
        is_flag=False,
        flag_value="working",
        metavar="[REV|RANGE]",
        help="A change: working, staged, branch, REV or A..B.",
        shell_complete=completion.changes,
    ),
    click.option(
        "--at", metavar="FILE:LINE[-LINE]", help="The cursor, or the selected lines.", shell_complete=completion.files
    ),
)
past_options = shared(workspaces_option, json_option, setting_options("budget", "drafter", "target"), server_option)
"""Those of questions about the past."""


def on_command_line(context: click.Context) -> Iterator[str]:
    """The names of the options that a command was given."""
    for option in context.command.params:
        name, source = str(option.name), context.get_parameter_source(str(option.name))
        if isinstance(option, click.Option) and source is ParameterSource.COMMANDLINE:
            off = option.is_flag and not context.params[name]
            yield option.secondary_opts[0] if off else max(option.opts, key=len)


def uses_server(server: bool, options: Mapping[str, Any]) -> bool:
    """True if a command is to ask the shared server, which has nothing to load for a target elsewhere, nor its key."""
    return server and not is_url(config_of(options).models.target)


def question_of(text: str | None, options: dict[str, Any], *, reads_input: bool = False) -> Question:
    """The question, with what is piped in if the command `reads_input`, and the cursor and the changes in its options.

    `--changes` takes a question that follows it for its value. A value with a space is that; no revision has one.
    """
    changes = options["changes"]
    if text is None and changes is not None and " " in changes.strip():
        text, changes = changes, "working"
    if text is not None and changes is None:
        text, changes = without_mention(text)
    if reads_input:
        text = with_input(text, folders_of(options))
    if text is None and changes is None:
        raise click.UsageError("Missing argument 'QUESTION': give one in quotes, or pipe it in.")
    try:
        cursor = None if (at := options["at"]) is None else cursor_of(at, folders_of(options), config_of(options).files)
        return Question(text or about_changes(changes) if changes is not None else text or "", cursor, changes=changes)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def folders_of(options: Mapping[str, Any]) -> tuple[Folder, ...]:
    """The folders of a command, with absolute paths and names that differ. Raises BadParameter for an unknown set."""
    roots = dict.fromkeys(root.resolve() for one in options["workspace"] for root in _roots(one))
    return tuple(named_folders({root: root.name for root in roots}))


def _repository() -> Path:
    """The repository around the working directory, unless another user's (`/tmp/.git`); else that directory."""
    here = Path.cwd()
    if here == Path(here.anchor) and is_everything(here):
        raise click.UsageError(f"{here} is the whole disk: name a repository with -w")
    level = top_above(here) or here
    if level == here or is_everything(level) or (level / ".git").stat().st_uid not in (user(), here.stat().st_uid):
        return here
    from winnow_engine.index.files import enters

    if not enters(level, here):
        return here
    click.echo(f"winnow: the workspace is the repository {level}; -w . for this folder alone", err=True)
    return level


def _roots(given: str) -> Sequence[Path]:
    if not given.startswith("@"):
        return [Path(given)]
    try:
        return workspace_set(given.removeprefix("@"))
    except WorkspaceError as error:
        raise click.BadParameter(str(error), param_hint="--workspace") from error


def cursor_of(at: str, folders: Sequence[Folder], rules: FileRules | None = None) -> Cursor:
    """`FILE:LINE[-LINE]`, FILE relative to the working directory or else to one of the folders.

    Raises click.BadParameter for another form, ValueError for lines that are no range, else PositionError.
    """
    if (match := _AT.fullmatch(at)) is None:
        raise click.BadParameter(f"{at!r} is not FILE:LINE or FILE:LINE-LINE")
    start, end = int(match["start"]), int(match["end"] or match["start"])
    return Cursor(_within(Path(match["file"]), folders, rules), start, end)


def _within(file: Path, folders: Sequence[Folder], rules: FileRules | None) -> str:
    places = [place.resolve() for place in (Path.cwd() / file, *(folder.root / file for folder in folders))]
    within = [(place, path) for place in places if (path := workspace_path(folders, place)) is not None]
    if not within:
        raise PositionError(f"{file} is outside the workspace {', '.join(str(folder.root) for folder in folders)}")
    for place, path in within:
        if is_file(place):
            _check_counts(path, folders, rules)
            return path
    raise PositionError(f"there is no file {file}")


def _check_counts(path: str, folders: Sequence[Folder], rules: FileRules | None) -> None:
    from winnow_engine.index.files import NO_FILE, explain

    for folder in folders:
        verdict = explain(folder.root, Path(inside), rules) if (inside := folder.relative(path)) is not None else None
        if verdict and not verdict.included and verdict.reason != NO_FILE:  # it may be spelled otherwise on disk
            raise PositionError(f"{path} is left out: {verdict.reason}; name a file that counts")
