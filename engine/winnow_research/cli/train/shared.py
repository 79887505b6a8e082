"""What the commands of `winnow train` share."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from winnow_engine.core import Progress
from winnow_engine.errors import TrainingError

DATA = click.Path(path_type=Path, dir_okay=False)
"""The type of an argument that is a file to read or write."""


def require(*packages: str) -> None:
    """Raise TrainingError, which says what to install, unless these packages are there."""
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise TrainingError(
            f"{' and '.join(missing)} missing: in a checkout of Winnow, run "
            "`pip install -e './engine/winnow_research[train]'`"
        )


def say(report: Progress) -> None:
    """Print every tenth report of a stage, and its last."""
    if report.done == report.total or report.done % 10 == 0:
        click.echo(f"{report.stage}: {report.done} of {report.total or 'some'}", err=True)
