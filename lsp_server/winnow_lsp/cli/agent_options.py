"""The options of `winnow mcp`, also as an agent's configuration has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

from winnow_lsp.cli.options import server_option, shared, workspace_option
from winnow_lsp.cli.setting_options import Decorator, setting_options, written


def agent_options(*, file: bool) -> Decorator:
    """Workspace, models, settings and server; the settings over those in `winnow.toml` if `file` says so."""
    return shared(workspace_option, setting_options("drafter", "target", file=file), server_option)


def given(context: click.Context, options: dict[str, Any]) -> list[str]:
    """The options that a command was given, with paths that lead there from any folder."""
    names = list(on_command_line(context))
    workspace = [f"--workspace={options['workspace'].absolute()}"] if "--workspace" in names else []
    return [*workspace, *written(options["settings"]), *(name for name in names if name.endswith("-server"))]


def on_command_line(context: click.Context) -> Iterator[str]:
    """The names of the options that a command was given."""
    for option in context.command.params:
        if isinstance(option, click.Option) and context.get_parameter_source(str(option.name)) is (
            ParameterSource.COMMANDLINE
        ):
            off = option.is_flag and not context.params[str(option.name)]
            yield option.secondary_opts[0] if off else max(option.opts, key=len)
