"""Values that a shell completes: models, folders and sets, files, settings, changes."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from winnow_engine.errors import WorkspaceError
from winnow_engine.models.registry import MODELS, ModelRole
from winnow_engine.models.target_table import known_targets
from winnow_engine.question import BRANCH, COMMIT, STAGED, WORKING
from winnow_lsp.host.settings import SETTINGS
from winnow_lsp.host.user_files import workspace_sets

Completed = list[CompletionItem]


def files(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Completed:
    """Files, which the shell finds."""
    return [CompletionItem(incomplete, type="file")]


def folders(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Completed:
    """Folders, which the shell finds; behind `@`, sets of repositories."""
    if not incomplete.startswith("@"):
        return [CompletionItem(incomplete, type="dir")]
    try:
        return _matching((f"@{name}" for name in workspace_sets()), incomplete)
    except WorkspaceError:
        return []


def models(_context: click.Context, parameter: click.Parameter, incomplete: str) -> Completed:
    """Names of models that can be what the parameter is called, and files where it is an option."""
    names = [one.name for one in MODELS if parameter.name not in set(ModelRole) or parameter.name in one.roles]
    names += [one.name for one in known_targets() if one.source and parameter.name != ModelRole.DRAFTER]
    found = _matching(names, incomplete)
    return found or ([CompletionItem(incomplete, type="file")] if isinstance(parameter, click.Option) else [])


def settings(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Completed:
    """Names of settings, for `--set`, and behind a name the values to choose from."""
    if "=" not in incomplete:
        return _matching((f"{setting.name}=" for setting in SETTINGS), incomplete)
    return _matching((f"{setting.name}={value}" for setting in SETTINGS for value in setting.rule.values), incomplete)


def changes(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Completed:
    """Words for changes that are no revisions."""
    return _matching((WORKING, STAGED, BRANCH, COMMIT), incomplete)


def _matching(names: Iterable[str], incomplete: str) -> Completed:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
