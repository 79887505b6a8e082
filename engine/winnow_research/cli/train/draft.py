"""`winnow train prompts` and `draft`: a draft for a target."""

from __future__ import annotations

import math
from pathlib import Path

import click

from winnow_engine.models.cache import locate
from winnow_research.cli.train.shared import DATA, require, say, workers_option

_AS_MANY_AS_FIT = 1_000_000  # updates, where minutes decide
_target_option = click.option(
    "--target",
    default="qwen2.5-coder-1.5b",
    show_default=True,
    help="A name or a GGUF: the model that the draft is for, a Qwen2.5.",
)


@click.command()
@click.argument("out", type=DATA)
@workers_option
@click.option("--functions", type=click.IntRange(1), help="Functions asked about in each project [the recipe's].")
@click.option("--seed", default=0, show_default=True)
@_target_option
def prompts(out: Path, workers: int, functions: int | None, seed: int, target: str) -> None:
    """Fetch the pinned projects and write prompts about them to OUT: what a draft is trained on."""
    from winnow_research.evaluation.repositories import Split, repositories
    from winnow_research.training.draft.prompts import PromptRecipe, prepare
    from winnow_research.training.projects import load

    recipe = PromptRecipe(seed=seed) if functions is None else PromptRecipe(functions, seed=seed)
    projects = [project.repository for project in load()]
    data = prepare(projects, repositories(Split.DEVELOPMENT), locate(target), recipe, say, workers)
    data.save(out)
    asked, code, judged = map(len, (data.asked, data.code, data.judged))
    click.echo(f"{out}: {asked:,} prompts, {code:,} texts of code, {judged:,} prompts to judge by")


@click.command()
@click.argument("data", type=DATA)
@click.argument("out", type=DATA)
@click.option("--answers", type=click.IntRange(1), help="Prompts that the target answers [the recipe's].")
@click.option("--steps", type=click.IntRange(1), help="Updates of all sittings [the recipe's].")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Stop after these, whatever the steps.")
@click.option("--layers", type=click.IntRange(1, 8), help="Of the draft [the recipe's].")
@click.option("--more", is_flag=True, help="Another sitting will follow: keep the learning rate up.")
@click.option("--seed", default=0, show_default=True)
@_target_option
def draft(
    data: Path,
    out: Path,
    answers: int | None,
    steps: int | None,
    minutes: float | None,
    layers: int | None,
    more: bool,
    seed: int,
    target: str,
) -> None:
    """Train a draft for `--set speculate=` on DATA (from `prompts`), and write OUT (GGUF) and what belongs to it.

    Run again, it goes on from the checkpoint beside OUT.
    """
    require("torch")
    from winnow_research.training.draft.run import train_draft
    from winnow_research.training.draft.trainer import DraftRecipe, Sitting

    given = {"answers": answers, "layers": layers, "steps": steps if minutes is None or steps else _AS_MANY_AS_FIT}
    recipe = DraftRecipe(seed=seed, **{name: value for name, value in given.items() if value is not None})
    sitting = Sitting(math.inf if minutes is None else 60 * minutes, last=not more)
    train_draft(data, locate(target), out, recipe, lambda text: click.echo(text, err=True), sitting)
    click.echo(f"{out}: use it with `--set speculate={out}`, with {out.with_suffix('.safetensors').name} beside it")


@click.command()
@click.argument("trained", type=DATA)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def ship(trained: Path, folder: Path) -> None:
    """Write what ships of the draft TRAINED (a GGUF, its .safetensors beside it) into FOLDER, and its SHA-256."""
    from winnow_research.training.draft.export import ship as write

    write(trained, folder)
    click.echo(f"{folder}: to ship it, put it into engine/winnow_weights/draft/, named after its target")
