"""The options of `winnow mcp`, and how they are written down in an agent's configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from winnow_lsp.cli.options import (
    drafter_option,
    given_settings,
    sampling_options,
    server_option,
    setting,
    shared,
    target_options,
    workspace_options,
)

serving_options = shared(
    workspace_options,
    setting("index.firstLook"),
    setting("budget.patience"),
    drafter_option,
    target_options,
    sampling_options,
    server_option,
)


def given(context: click.Context, *without: str) -> list[str]:
    """The options that a command was given, but for some, with paths that lead there from any folder."""
    options = [one for one in context.command.params if isinstance(one, click.Option) and one.name not in without]
    files = given_settings(context.params)
    files["shared_index"] = files["index.shared"]
    return [
        written
        for option in options
        if option.name in context.params and _is_given(context, option)
        for written in _written(option, files.get(str(option.name), context.params[str(option.name)]))
    ]


def _is_given(context: click.Context, option: click.Option) -> bool:
    """Whether an option stands on the command line, by its name or by an old one, which only changes the value."""
    source, value = context.get_parameter_source(str(option.name)), context.params[str(option.name)]
    renamed = value not in (None, ()) and str(value) != str(option.get_default(context))
    return source is ParameterSource.COMMANDLINE or (source is ParameterSource.DEFAULT and renamed)


def _written(option: click.Option, value: Any) -> list[str]:
    """With `=`, so that no value is taken for an option or a subcommand."""
    name = max(option.opts, key=len)
    if option.is_flag:
        return [name if value else option.secondary_opts[0]]
    values = value if isinstance(value, (list, tuple)) else [value]
    return [f"{name}={one.absolute() if isinstance(one, Path) else one}" for one in values]
