"""Settings as options, over the user's `winnow.toml`."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from winnow_engine.config import SPECULATE
from winnow_engine.errors import WorkspaceError
from winnow_engine.models.cache import given_file
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET, MODELS
from winnow_engine.models.target_table import known_targets
from winnow_engine.platform import expanded, is_file, user_folder
from winnow_engine.targets.remote.address import is_url
from winnow_lsp.cli import completion
from winnow_lsp.cli.terminal import show
from winnow_lsp.host.settings import BY_NAME, Setting, Settings
from winnow_lsp.host.user_files import read_settings_file

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_MODELS = ("drafter", "target")
# Values that are no files.
_NAMES = (*SPECULATE, *(model.name for model in MODELS), *(target.name for target in known_targets()))
_OPTIONS = {
    "budget": "Code to keep: tokens, or a share.",
    "drafter": "The model that scores code.",
    "target": "The model that answers, or its server.",
}


class _Value(click.ParamType[Any]):
    def __init__(self, setting: Setting) -> None:
        self._setting, self.name = setting, setting.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return _value(self._setting, value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def shared(*decorators: Decorator) -> Decorator:
    """One decorator that applies several options, shown in this order."""

    def apply(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def option_of(name: str, default: Any = None) -> Decorator:
    """The option of one setting."""
    setting = BY_NAME[name]
    return click.option(
        f"--{name}",
        type=_Value(setting),
        default=default,
        show_default=True,
        metavar=setting.rule.metavar,
        help=_OPTIONS[name],
        shell_complete=completion.models if name in _MODELS else None,
    )


drafter_option = option_of("drafter", DEFAULT_DRAFTER)
target_option = option_of("target", DEFAULT_TARGET)  # those of commands that take no other settings


def setting_options(*names: str, file: bool = True) -> Decorator:
    """Options for some settings, and `--set` for all. The command gets those given, over `file`, as `settings`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(*arguments: Any, **options: Any) -> Any:
            assigned: dict[str, Any] = options.pop("assigned")
            given = {name: value for name in names if (value := options.pop(name)) is not None}
            reads = file and click.get_current_context().invoked_subcommand is None
            settings = {**(user_settings() if reads else {}), **assigned, **given}
            return function(*arguments, settings=settings, **options)

        return shared(*map(option_of, names), _SET)(command)

    return decorate


_SET = click.option(
    "--set",
    "assigned",
    multiple=True,
    metavar="NAME=VALUE",
    callback=lambda _context, _parameter, given: _assigned([one.removeprefix("winnow.") for one in given]),
    help="Any other setting; see docs/settings.md.",
    shell_complete=completion.settings,
)


def config_of(options: Mapping[str, Any]) -> Settings:
    """The configuration among a command's options."""
    return Settings.of(options["settings"])


def written(settings: Mapping[str, Any]) -> list[str]:
    """Settings as options of a command, joined by `=`, so that no value is taken for an option."""
    return [
        f"--{name if name in _MODELS else f'set={name}'}={one if isinstance(one, str) else json.dumps(one)}"
        for name, value in settings.items()
        for one in (value if isinstance(value, list) else [value])
    ]


def environment_models() -> dict[str, str]:
    """The models in WINNOW_TARGET and WINNOW_DRAFTER, as settings; paths of files are made absolute."""
    given = {name: value for name in _MODELS if (value := os.environ.get(f"WINNOW_{name.upper()}", "").strip())}
    return {name: _with_absolute_paths(name, value) for name, value in given.items()}


def user_settings() -> dict[str, Any]:
    """The settings in `winnow.toml`, and over them those of the environment; what is wrong with others is said.

    Raises UsageError if the file cannot be read.
    """
    try:
        values, problems = read_settings_file()
    except WorkspaceError as error:
        raise click.UsageError(str(error)) from error
    for problem in problems:
        show(f"winnow: {problem}", err=True)
    folder = user_folder("config")  # the working one may be anybody's repository
    own = {name: _with_absolute_paths(name, _beneath(folder, name, value)) for name, value in values.items() if folder}
    return own | environment_models()


def _beneath(folder: Path, name: str, value: Any) -> Any:
    """A setting's value, where what names a file or folder does so from `folder`."""
    if name == "index.shared":
        return [one if is_url(one) else str(folder / expanded(one)) for one in value]
    if name not in (*_MODELS, "speculate") or value in _NAMES or is_url(value):
        return value
    file = folder / expanded(value)
    return str(file) if given_file(value) or is_file(file) else value  # never a file of the working folder


def _assigned(given: Sequence[str]) -> dict[str, Any]:
    """The settings in texts such as `maxTokens=40`; those of a list add up."""
    values: dict[str, Any] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or name not in BY_NAME:
            known = ", ".join(BY_NAME)
            raise click.BadParameter(f"{one!r} is not NAME=VALUE, with one of these names: {known}")
        try:
            value = _value(BY_NAME[name], text)
        except ValueError as error:
            raise click.BadParameter(f"{name} {error}") from error
        values[name] = [*values.get(name, []), *value] if isinstance(value, list) else value
    return values


def _value(setting: Setting, text: str) -> Any:
    """The value that a text stands for: as in TOML, or as it is. Raises ValueError if the setting takes neither."""
    for value in (_toml(text), text, [text]):
        if setting.rule.allows(value):
            return _with_absolute_paths(setting.name, value)
    raise ValueError(f"must be {setting.rule.words}, not {text!r}")


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, KeyError):
        return text


def _with_absolute_paths(name: str, value: Any) -> Any:
    """The value of a setting, where names of files and folders lead there from any folder."""
    if name in (*_MODELS, "speculate"):
        file = None if value in SPECULATE or is_url(value) else given_file(value)
        return str(file.resolve()) if file is not None and is_file(file) else value
    if name == "index.shared":
        return [one if is_url(one) else str(expanded(one).resolve()) for one in value]
    return value
