"""`winnow bench faults`: whether the index survives what may happen to it."""

from __future__ import annotations

import json

import click

from winnow_research.cli.bench.shared import say
from winnow_research.errors import EvaluationError
from winnow_research.faults.run import KINDS, run


@click.command()
@click.option("--times", type=click.IntRange(1), default=50, show_default=True, help="Of each kind.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Only this [all].")
@click.option("--seed", default=1, show_default=True)
def faults(times: int, kinds: tuple[str, ...], seed: int) -> None:
    """Whether the index survives kill -9, power cuts, a full disk, flipped bits and more. Prints JSON."""
    try:
        click.echo(json.dumps(run(times, kinds, seed, say), indent=2))
    except AssertionError as error:
        raise EvaluationError(str(error)) from error
