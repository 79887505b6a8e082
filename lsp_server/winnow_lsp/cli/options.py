"""Options that several subcommands share, made from the table of settings, and what they mean to the engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from winnow_engine.changes.mention import without_mention
from winnow_engine.config import SPECULATE, Config
from winnow_engine.core import Folder
from winnow_engine.errors import PositionError, WorkspaceError
from winnow_engine.models.cache import given_file
from winnow_engine.platform import is_file
from winnow_engine.question import Cursor, Question, about_changes
from winnow_engine.targets.remote.address import is_url
from winnow_lsp.host.roots import named_folders, workspace_path
from winnow_lsp.host.setting_rules import AUTO
from winnow_lsp.host.settings import BY_NAME, Setting, Settings
from winnow_lsp.host.socket_path import SWITCH
from winnow_lsp.host.workspace_sets import workspace_set

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_MODEL_FILES = ("drafter", "target", "speculate")
_AT = re.compile(r"(?P<file>.+?):(?P<start>\d+)(?:-(?P<end>\d+))?")


class _OrAuto(click.ParamType[Any]):
    """A value of another type, or `auto`."""

    def __init__(self, inner: click.ParamType[Any]) -> None:
        self._inner, self.name = inner, inner.name

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """What `--help` shows for a value: the word as it is to be written."""
        return f"{self.name.upper()}|{AUTO}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == AUTO:
            return value
        try:
            return self._inner.convert(value, param, ctx)
        except click.BadParameter as error:
            raise click.BadParameter(f"{error.message.removesuffix('.')}, nor {AUTO}.", ctx, param) from error


def setting(name: str) -> Decorator:
    """The option of a setting, with its default, its limits and its meaning."""
    found = BY_NAME[name]
    assert found.option is not None, name
    many = found.rule.schema.get("type") == "array"
    return click.option(
        found.option,
        default=None if many else found.default,
        show_default=True,
        multiple=many,
        type=click.STRING if many else _type(found.rule.schema),
        metavar=found.rule.metavar,
        help=found.meaning,
    )


def _type(schema: Mapping[str, Any]) -> click.ParamType[Any]:
    """What a JSON Schema of the settings' table means on a command line."""
    if "anyOf" in schema:
        return _OrAuto(_type(schema["anyOf"][0]))
    if "enum" in schema:
        return click.Choice(schema["enum"])
    if "integer" in schema["type"]:
        return click.IntRange(schema.get("minimum"), schema.get("maximum"))
    if "number" in schema["type"]:
        least = schema.get("exclusiveMinimum", schema.get("minimum"))
        return click.FloatRange(least, schema.get("maximum"), min_open="exclusiveMinimum" in schema)
    return click.STRING


def _parameter(setting: Setting) -> str:
    """The name under which click hands over a setting's option; "" for a setting without one."""
    return (setting.option or "").removeprefix("--").replace("-", "_")


def model_parameters() -> list[str]:
    """The names under which click hands over the options of the models."""
    return [name for one in BY_NAME.values() if one.field.startswith("models.") and (name := _parameter(one))]


def shared(*decorators: Decorator) -> Decorator:
    """One decorator that applies several options, shown in this order."""

    def apply(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def _renamed(old: str, new: str) -> Decorator:
    """An option's old name, which still works, with a notice."""

    def take(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            click.echo(f"winnow: {old} is now called {new}", err=True)
            context.params[new.removeprefix("--")] = value

    return click.option(old, callback=take, expose_value=False, hidden=True)


file_options = shared(setting("files.include"), setting("files.exclude"), setting("files.maxBytes"))
workspace_options = shared(
    click.option("-w", "--workspace", type=click.Path(path_type=Path), default=".", help="The repository [.]."),
    file_options,
    setting("index.shared"),
    setting("index.maxMegabytes"),
)
workspaces_options = shared(
    click.option(
        "-w",
        "--workspace",
        multiple=True,
        default=(".",),
        metavar="DIR|@NAME",
        help="The repository [.]; several times: several at once. @NAME: a set from workspaces.toml.",
    ),
    file_options,
    setting("index.shared"),
    setting("index.maxMegabytes"),
)
drafter_option = setting("drafter")
target_option = setting("target")
target_options = shared(
    target_option,
    setting("targetContext"),
    setting("kvType"),
    setting("targetPlace"),
    _renamed("--draft", "--speculate"),
    setting("speculate"),
    setting("snapshotMegabytes"),
)
budget_options = shared(
    setting("budget.tokens"), setting("budget.ratio"), setting("budget.patience"), setting("index.firstLook")
)
changes_option = click.option(
    "--changes",
    is_flag=False,
    flag_value="working",
    metavar="[REV|RANGE]",
    help="Ask about what changed: `working` (what is not committed, as without a value), `staged`, `branch`, a commit, "
    "A..B, or A...B from where both parted.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object.")
selection_options = shared(
    changes_option,
    click.option("--at", metavar="FILE:LINE[-LINE]", help="Where the cursor is, or which lines are selected."),
    budget_options,
    json_option,
)
sampling_options = shared(
    setting("answer.maxTokens"),
    setting("answer.thinking"),
    setting("answer.thinkingTokens"),
    setting("answer.temperature"),
    setting("answer.topP"),
    setting("answer.seed"),
)
server_option = click.option(
    "--server/--no-server",
    default=True,
    envvar=SWITCH,
    help="Ask your shared server, which keeps the models loaded, or load them in this process.  [default: server]",
)
past_options = shared(
    workspaces_options, budget_options, json_option, drafter_option, target_options, sampling_options, server_option
)
"""Those of questions about the past."""


def uses_server(server: bool, options: Mapping[str, Any]) -> bool:
    """Whether a command is to ask the shared server.

    A target elsewhere has nothing to load there, and its key is in the command's own environment.
    """
    return server and not is_url(options["target"])


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn the engine's ValueError for a value out of range into a usage error."""
    try:
        yield
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def config_of(options: dict[str, Any]) -> Config:
    """The configuration among a command's options; defaults for what the command does not take."""
    with usage_errors():
        return Settings.of(_taken(options))


def given_settings(options: dict[str, Any]) -> dict[str, Any]:
    """The settings among a command's options as an editor would send them, with model files as absolute paths."""
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in _taken(options).items()}
    files = {name: _file(str(values[name])) for name in _MODEL_FILES}
    if shared := values.get("index.shared"):
        values["index.shared"] = [one if is_url(one) else str(Path(one).expanduser().resolve()) for one in shared]
    return values | {name: str(file) for name, file in files.items() if file is not None}


def _file(model: str) -> Path | None:
    """The absolute path of the file that a model's option names, None if it names something else."""
    file = None if model in SPECULATE or is_url(model) else given_file(model)
    return file.resolve() if file is not None and is_file(file) else None


def _taken(options: dict[str, Any]) -> dict[str, Any]:
    """The settings among a command's options, by name."""
    return {name: options[key] for name, setting in BY_NAME.items() if (key := _parameter(setting)) in options}


def question_of(text: str | None, options: dict[str, Any]) -> Question:
    """The question, with the cursor and the changes among a command's options.

    `--changes` takes a question that follows it for its value. A value with a space is that; no revision has one.
    """
    changes = options["changes"]
    if text is None and changes is not None and " " in changes.strip():
        text, changes = changes, "working"
    if text is not None and changes is None:
        text, changes = without_mention(text)
    if text is None and changes is None:
        raise click.UsageError("Missing argument 'QUESTION'.")
    with usage_errors():
        cursor = cursor_of(options["at"], folders_of(options))
        return Question(text or about_changes(changes) if changes is not None else text or "", cursor, changes=changes)


def folders_of(options: dict[str, Any]) -> tuple[Folder, ...]:
    """The folders among a command's options, with absolute paths and with names that differ.

    Raises click.BadParameter for a set that is not there.
    """
    roots = dict.fromkeys(root.resolve() for one in options["workspace"] for root in _roots(one))
    return tuple(named_folders({root: root.name for root in roots}))


def _roots(given: str) -> Sequence[Path]:
    """The folder, or the folders of a set."""
    if not given.startswith("@"):
        return [Path(given)]
    try:
        return workspace_set(given.removeprefix("@"))
    except WorkspaceError as error:
        raise click.BadParameter(str(error), param_hint="--workspace") from error


def cursor_of(at: str | None, folders: Sequence[Folder]) -> Cursor | None:
    """`FILE:LINE[-LINE]`, FILE relative to the working directory or else to one of the folders.

    Raises click.BadParameter for another form, ValueError for lines that are no range, PositionError for a file
    outside the workspace.
    """
    if at is None:
        return None
    match = _AT.fullmatch(at)
    if match is None:
        raise click.BadParameter(f"{at!r} is not FILE:LINE or FILE:LINE-LINE")
    start = int(match["start"])
    end = int(match["end"] or start)
    return Cursor(_within(Path(match["file"]), folders), start, end)


def _within(file: Path, folders: Sequence[Folder]) -> str:
    """The workspace path of a file, preferably one that exists."""
    places = [place.resolve() for place in (Path.cwd() / file, *(folder.root / file for folder in folders))]
    within = [(place, path) for place in places if (path := workspace_path(folders, place)) is not None]
    if not within:
        raise PositionError(f"{file} is outside the workspace {', '.join(str(folder.root) for folder in folders)}")
    return next((path for place, path in within if is_file(place)), within[0][1])
