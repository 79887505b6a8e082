"""`winnow train reranker`: a reranker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from winnow_engine.models.cache import locate
from winnow_lsp.cli.setting_options import drafter_option
from winnow_research.cli.train.shared import DATA, require, turns_of, turns_option
from winnow_research.training.dataset import Dataset


@click.command()
@click.argument("data", type=DATA)
@click.argument("out", type=DATA)
@click.option("--minutes", default=7.0, show_default=True, help="For the first stage's lists and training together.")
@click.option("--steps", type=click.IntRange(1), help="Updates at most [the recipe's].")
@click.option("--layers", type=click.IntRange(1), help="Of the model [the recipe's].")
@click.option("--rank", type=click.IntRange(1), help="Of the updates [the recipe's].")
@click.option("--segments", type=click.IntRange(1), help="Of 2,048 tokens, that are read of a question [the recipe's].")
@click.option("--asked", type=click.IntRange(1), help="Questions with lists [the recipe's].")
@turns_option
@click.option("--projects", default=0, show_default=True, help="Of these so many; 0: all.")
@click.option("--batch", type=click.IntRange(1), help="Questions in a batch, two batches a step [the recipe's].")
@click.option("--learning-rate", type=click.FloatRange(0, min_open=True), help="The highest [the recipe's].")
@click.option("--seed", default=0, show_default=True)
@click.option("--adapter", type=DATA, help="The first stage [the one that ships].")
@click.option("--model", help="Whose layers it has, of the drafter's vocabulary [the drafter].")
@drafter_option
def reranker(
    data: Path,
    out: Path,
    minutes: float,
    steps: int | None,
    layers: int | None,
    rank: int | None,
    segments: int | None,
    asked: int | None,
    turns: tuple[str, ...],
    projects: int,
    batch: int | None,
    learning_rate: float | None,
    seed: int,
    adapter: Path | None,
    model: str | None,
    drafter: str,
) -> None:
    """Train a reranker on DATA and write OUT (safetensors), with its record beside it (JSON)."""
    require("torch")
    from winnow_research.training.reranker.lists import ListRecipe
    from winnow_research.training.reranker.run import train_reranker
    from winnow_research.training.reranker.trainer import RerankerRecipe

    given: dict[str, Any] = {"steps": steps, "layers": layers, "rank": rank, "learning_rate": learning_rate}
    given |= {"segments": segments, "questions": batch}
    recipe = RerankerRecipe(seed=seed, **{name: value for name, value in given.items() if value is not None})
    dataset = Dataset.load(data)
    lists = ListRecipe(projects=projects, seed=seed) if asked is None else ListRecipe(asked, projects, seed=seed)
    lists = replace(lists, turns={**lists.turns, **turns_of(turns, dataset.kinds)})
    train_reranker(
        locate(drafter),
        dataset,
        out,
        lists,
        recipe,
        minutes,
        lambda text: click.echo(text, err=True),
        adapter,
        None if model is None else locate(model),
    )
