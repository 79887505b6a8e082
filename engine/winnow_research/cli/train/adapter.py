"""`winnow train run` and `mean`: the adapter that makes a language model a drafter."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from winnow_engine.models.cache import locate
from winnow_lsp.cli.setting_options import drafter_option
from winnow_research.cli.train.shared import DATA, require, turns_of, turns_option
from winnow_research.training.dataset import Dataset

_profile_option = click.option(
    "--profile",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write a profile with the adapter to this folder, as docs/training.md says.",
)


@click.command()
@click.argument("data", type=DATA)
@click.argument("out", type=DATA)
@click.option("--steps", type=click.IntRange(1), help="Updates [the recipe's].")
@click.option("--seed", default=0, show_default=True)
@turns_option
@click.option("--learning-rate", type=click.FloatRange(0, min_open=True), help="The highest [the recipe's].")
@click.option("--from", "start", type=DATA, help="An adapter to train further, instead of a new one.")
@click.option("--also", type=DATA, help="A data set that one batch in four is of.")
@click.option(
    "--teacher",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A reranker that teaches the adapter named by --from.",
)
@click.option("--model", help="The model whose layers the teacher has [the drafter].")
@click.option(
    "--recompute",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Compute so many layers anew in the backward pass: less memory, more time.",
)
@click.option("--checkpoint", type=DATA, help="Written as training goes on; where it exists, training resumes there.")
@click.option(
    "--every", type=click.IntRange(1), default=200, show_default=True, help="Steps from checkpoint to checkpoint."
)
@_profile_option
@drafter_option
def run(
    data: Path,
    out: Path,
    steps: int | None,
    seed: int,
    turns: tuple[str, ...],
    learning_rate: float | None,
    start: Path | None,
    also: Path | None,
    teacher: Path | None,
    model: str | None,
    recompute: int,
    checkpoint: Path | None,
    every: int,
    profile: Path | None,
    drafter: str,
) -> None:
    """Train on DATA and write the adapter OUT (safetensors), with its recipe and losses beside it (JSON)."""
    require("torch")
    from winnow_engine.encoder.adapter import AdapterProfile
    from winnow_research.training import trainer

    if teacher is not None and start is None:
        raise click.UsageError("--teacher needs --from: it adds to what an adapter says")
    file, dataset = locate(drafter), Dataset.load(data)
    other = None if also is None else Dataset.load(also)
    given: dict[str, Any] = {"steps": steps, "learning_rate": learning_rate, "recomputed": recompute or None}
    recipe = trainer.TrainingRecipe(seed=seed, **{name: value for name, value in given.items() if value is not None})
    turned = {**recipe.mixture.turns, **turns_of(turns, (*dataset.kinds, *(other.kinds if other else ())))}
    recipe = replace(recipe, mixture=replace(recipe.mixture, turns=turned))
    taught_by = None
    if teacher is not None:
        taught_by = teacher, locate(model or drafter)
        recipe = replace(recipe, teacher=_digest(teacher))
    if start is not None:
        recipe = recipe.after(AdapterProfile(start))
    losses = []

    def report(step: trainer.Step) -> None:
        losses.append(asdict(step))
        if step.step % 20 == 0 or step.step == recipe.steps:
            click.echo(f"step {step.step} of {recipe.steps}: loss {step.loss}, answer first {step.first}", err=True)

    trainer.train(file, dataset, recipe, out, report, checkpoint, every, start, other, taught_by)
    if not losses:
        return  # one of torchrun's other processes
    digests = [_digest(one) for one in (data, also) if one is not None]
    record = {"recipe": asdict(recipe), "data": digests, "steps": losses}
    out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    _write_profile(profile, out, file)


@click.command()
@click.argument("out", type=DATA)
@click.argument("adapters", type=DATA, nargs=-1, required=True)
@_profile_option
@drafter_option
def mean(out: Path, adapters: tuple[Path, ...], profile: Path | None, drafter: str) -> None:
    """Write the mean of several ADAPTERS to OUT: of their updates to the drafter's weights, and of their heads."""
    from winnow_research.training.mean import mean as write_mean

    held = write_mean(adapters, out)
    click.echo(f"{out}: the mean of {len(adapters)}; its rank holds {held:.1%} of it")
    if profile is not None:
        _write_profile(profile, out, locate(drafter))


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _write_profile(folder: Path | None, adapter: Path, drafter: Path) -> None:
    """Write a profile with the adapter and the fusion weights that ship, which `winnow calibrate` can replace."""
    from winnow_engine.encoder.adapter import AdapterProfile  # here, since Numba comes with it
    from winnow_research.calibration.profile_writing import fingerprint_of, with_fusion, write_profile

    if folder is not None:
        name = fingerprint_of(drafter)
        write_profile(folder, name, with_fusion(AdapterProfile(adapter)).fusion, adapter=adapter)
        click.echo(f"wrote {folder}")
