"""`winnow bench agreement`: how often this machine's CPU and GPU keep the same code."""

from __future__ import annotations

import json
from pathlib import Path

import click

from winnow_research.evaluation.agreement import compared, sides, write
from winnow_research.machine import describe


@click.command()
@click.option("--tokens", type=click.IntRange(1), default=24_000, show_default=True, help="Of a workspace.")
@click.option("--questions", type=click.IntRange(1), default=8, show_default=True, help="At most, a workspace.")
@click.option("--budget", type=click.IntRange(1), default=2600, show_default=True, help="Tokens kept.")
@click.option("--write", "out", type=click.Path(path_type=Path), hidden=True)
def agreement(tokens: int, questions: int, budget: int, out: Path | None) -> None:
    """How often this machine's CPU and GPU keep the same code. Prints JSON."""
    if out is not None:
        write(out, tokens, questions, budget)
        return
    found = sides(tokens, questions, budget)
    backends = {side: one["backend"] for side, one in found.items()}
    document = {"machine": describe(), "backends": backends, "tokens": tokens, "budget": budget}
    click.echo(json.dumps({**document, "rows": compared(found)}, indent=2))
