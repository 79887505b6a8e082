"""`winnow train judge`: whether a reranker keeps more, and with what weight."""

from __future__ import annotations

import json
from pathlib import Path

import click

from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_research.cli.train.shared import DATA


@click.command()
@click.argument("step", type=click.Choice(("record", "read", "compare")))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes that record, of 4 GB each."
)
@click.option("--reranker", type=DATA, help="The file of the reranker to judge.")
@click.option("--model", default=DEFAULT_DRAFTER, show_default=True, help="Whose layers the reranker has.")
@click.option("--name", default="reranker", show_default=True, help="Of what the reranker says.")
def judge(step: str, folder: Path, jobs: int, reranker: Path | None, model: str, name: str) -> None:
    """Judge a reranker in three steps, which leave their files in FOLDER: record questions, read them, compare."""
    from winnow_research.training.reranker import recording

    folder.mkdir(parents=True, exist_ok=True)
    if step == "record":
        recording.record(folder, jobs)
    elif step == "compare":
        click.echo(json.dumps(recording.compare(folder, name), indent=2))
    elif reranker is None:
        raise click.UsageError("read needs --reranker")
    else:
        recording.read(folder, reranker, locate(model), name)
