"""`winnow bench soak`: whether a busy server loses answers or gathers memory."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

import click

from winnow_engine.errors import EvaluationError
from winnow_research.machine import describe
from winnow_research.soak import figures_of
from winnow_research.soak import soak as run


@click.command()
@click.option("--minutes", type=click.FloatRange(0, min_open=True), default=10.0, show_default=True)
def soak(minutes: float) -> None:
    """Whether a server that two clients keep busy loses an answer, or its memory grows. Prints JSON."""
    with tempfile.TemporaryDirectory() as scratch:
        figures, fine = figures_of(*asyncio.run(run(60 * minutes, Path(scratch))))
    click.echo(json.dumps({"machine": describe(), "minutes": minutes, **figures}, indent=2))
    if not fine:
        raise EvaluationError("an answer was lost, or memory grew")
