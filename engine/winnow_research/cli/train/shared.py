"""What the commands of `winnow train` share."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import click

from winnow_engine.core import Progress
from winnow_research.errors import TrainingError

DATA = click.Path(path_type=Path, dir_okay=False)
"""The type of an argument that is a file to read or write."""

turns_option = click.option(
    "--turns", multiple=True, metavar="KIND=N", help="How many of a kind come in a round [the recipe's]."
)


workers_option = click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")


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


def turns_of(given: Sequence[str], kinds: Sequence[str]) -> dict[str, int]:
    """What `turns_option` was given, by kind. BadParameter for something that is none of the kinds."""
    found = {}
    for one in given:
        kind, _, number = one.partition("=")
        if kind not in kinds or not number.isdecimal() or not int(number):
            raise click.BadParameter(f"{one}: wanted KIND=N, a kind of {', '.join(kinds)}", param_hint="--turns")
        found[kind] = int(number)
    return found
