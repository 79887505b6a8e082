"""`winnow train judge`: whether a reranker keeps more, and with what weight; or trains it further."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import click

from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_research.cli.train.shared import DATA, require


@click.command()
@click.argument("step", type=click.Choice(("record", "read", "compare", "further")))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes that record, of 4 GB each."
)
@click.option("--reranker", type=DATA, help="The file of the reranker to judge, or to train further.")
@click.option("--model", default=DEFAULT_DRAFTER, show_default=True, help="Whose layers the reranker has.")
@click.option("--out", type=DATA, help="The file of the reranker trained further.")
@click.option("--minutes", default=4.7, show_default=True, help="For training further.")
@click.option("--learning-rate", default=1e-4, show_default=True, help="The highest, in training further.")
@click.option("--name", default="reranker", show_default=True, help="Of what the reranker says.")
def judge(
    step: str,
    folder: Path,
    jobs: int,
    reranker: Path | None,
    model: str,
    out: Path | None,
    minutes: float,
    learning_rate: float,
    name: str,
) -> None:
    """Judge a reranker in three steps, which leave their files in FOLDER: record questions, read them, compare.

    `further` trains one with the questions of calibration that were recorded.
    """
    from winnow_research.training.reranker import recording

    folder.mkdir(parents=True, exist_ok=True)
    if step == "record":
        recording.record(folder, jobs)
    elif step == "compare":
        click.echo(json.dumps(recording.compare(folder, name), indent=2))
    elif reranker is None:
        raise click.UsageError(f"{step} needs --reranker")
    elif step == "further":
        if out is None:
            raise click.UsageError("further needs --out")
        require("torch")
        from winnow_research.training.reranker.further import train_further

        records, said = folder / "records-calibration.pickle", partial(click.echo, err=True)
        train_further(records, reranker, locate(model), out, minutes, learning_rate, said)
    else:
        recording.read(folder, reranker, locate(model), name)
