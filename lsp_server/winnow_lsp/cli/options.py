"""Options that several subcommands share, and what they mean to the engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import click

from winnow_engine.config import SNAPSHOT_MEGABYTES, KvType, TargetOptions, Wanted
from winnow_engine.core import Budget, Cursor, Question
from winnow_engine.errors import PositionError
from winnow_engine.index.files import FileRules
from winnow_engine.index.workspace import Folder, Sources
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_AT = re.compile(r"(?P<file>.+?):(?P<start>\d+)(?:-(?P<end>\d+))?")


_AUTO = "auto"


class _TokensOrAuto(click.IntRange):
    """A number of tokens, or `auto`."""

    name = "tokens|auto"

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == _AUTO else super().convert(value, param, ctx)


def shared(*decorators: Decorator) -> Decorator:
    """One decorator that applies several options, shown in this order."""

    def apply(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


workspace_options = shared(
    click.option("-w", "--workspace", type=click.Path(path_type=Path), default=".", help="The repository [.]."),
    click.option("--include", multiple=True, metavar="PATTERN", help="Take only files that match (gitignore syntax)."),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out files that match (gitignore syntax)."),
    click.option("--max-file-bytes", type=click.IntRange(1), default=FileRules().max_bytes, show_default=True),
)

drafter_option = click.option(
    "--drafter",
    default=DEFAULT_DRAFTER,
    show_default=True,
    metavar="NAME|FILE",
    help="The drafter: a name from `winnow models list`, or a GGUF.",
)
target_option = click.option(
    "--target",
    default=DEFAULT_TARGET,
    show_default=True,
    metavar="NAME|FILE|URL",
    help="The target: likewise, or an OpenAI-compatible server (http://127.0.0.1:8000/v1#MODEL).",
)
target_options = shared(
    target_option,
    click.option(
        "--target-context",
        type=click.IntRange(1),
        metavar="TOKENS",
        help="Context of a target on a server [what it says, or 4,096].",
    ),
    click.option(
        "--kv-type",
        type=click.Choice(get_args(KvType)),
        default=TargetOptions().kv_type,
        show_default=True,
        help="How a local target stores keys and values.",
    ),
    click.option(
        "--target-place",
        type=click.Choice(get_args(Wanted)),
        default="auto",
        show_default=True,
        help="Where a local target lives: on the GPU, there while it answers, on the CPU; auto: as memory allows.",
    ),
    click.option(
        "--draft",
        default=TargetOptions().draft,
        show_default=True,
        metavar="auto|off|lookup|NAME|FILE",
        help="What guesses tokens ahead: earlier text, as far as it pays (auto) or always (lookup), or a small model.",
    ),
    click.option(
        "--snapshot-megabytes",
        type=click.IntRange(0),
        default=SNAPSHOT_MEGABYTES,
        show_default=True,
        help="Disk for what a local target has read, so that it need not read it again; 0: none.",
    ),
)

selection_options = shared(
    click.option("--at", metavar="FILE:LINE[-LINE]", help="Where the cursor is, or which lines are selected."),
    click.option(
        "--budget",
        type=_TokensOrAuto(),
        default=_AUTO,
        show_default=True,
        help="Tokens of the workspace to keep; auto: as many as the answer seems to need, at most 6,000.",
    ),
    click.option("--keep-ratio", type=click.FloatRange(0, 1, min_open=True), help="Or the share of it to keep."),
    click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object."),
)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn the engine's ValueError for a value out of range into a usage error."""
    try:
        yield
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def rules_of(options: dict[str, Any]) -> FileRules:
    """The file rules among a command's options."""
    return FileRules(options["max_file_bytes"], tuple(options["include"]), tuple(options["exclude"]))


def sources_of(options: dict[str, Any]) -> Sources:
    """The workspace among a command's options."""
    return Sources((Folder(Path(options["workspace"])),), rules_of(options))


def budget_of(options: dict[str, Any]) -> Budget:
    """The budget among a command's options."""
    with usage_errors():
        return Budget(None if options["budget"] == _AUTO else options["budget"], options["keep_ratio"])


def question_of(text: str, options: dict[str, Any]) -> Question:
    """The question, with the cursor among a command's options."""
    with usage_errors():
        return Question(text, cursor_of(options["at"], options["workspace"]))


def cursor_of(at: str | None, root: Path) -> Cursor | None:
    """`FILE:LINE[-LINE]`, FILE relative to the working directory or else to the workspace.

    Raises click.BadParameter for another form, ValueError for lines that are no range, PositionError for a file
    outside the workspace.
    """
    if at is None:
        return None
    match = _AT.fullmatch(at)
    if match is None:
        raise click.BadParameter(f"{at!r} is not FILE:LINE or FILE:LINE-LINE", param_hint="--at")
    start = int(match["start"])
    end = int(match["end"] or start)
    return Cursor(_within(Path(match["file"]), root), start, end)


def _within(file: Path, root: Path) -> str:
    inside = root.resolve()
    places = [place.resolve() for place in (Path.cwd() / file, root / file)]
    within = [place for place in places if place.is_relative_to(inside)]
    if not within:
        raise PositionError(f"{file} is outside the workspace {root}")
    return next((place for place in within if place.is_file()), within[0]).relative_to(inside).as_posix()
