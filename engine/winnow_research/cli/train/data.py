"""`winnow train prepare`, `written`, `commits`, `join` and `ask`: data sets of questions about code."""

from __future__ import annotations

from pathlib import Path

import click

from winnow_engine.models.cache import locate
from winnow_lsp.cli.setting_options import drafter_option
from winnow_research.cli.train.shared import DATA, require, say, workers_option
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.training.adding import questions_alone
from winnow_research.training.dataset import Dataset

_alone_option = click.option(
    "--alone", is_flag=True, help="Write the questions without the files' text, to be joined: about 2 MB."
)


_seed_option = click.option("--seed", default=0, show_default=True)


@click.command()
@click.argument("out", type=DATA)
@workers_option
@_seed_option
@drafter_option
def prepare(out: Path, workers: int, seed: int, drafter: str) -> None:
    """Fetch the pinned projects and write the data set OUT (about 45 MB, ten minutes on two cores)."""
    from winnow_research.training import prepare as building
    from winnow_research.training.projects import load

    projects = [project.repository for project in load()]
    held_out = [one for split in Split for one in repositories(split)]  # calibration must be new to the adapter, too
    data = building.prepare(projects, held_out, locate(drafter), building.DataRecipe(seed=seed), say, workers)
    _save_new(data, out)


@click.command()
@click.argument("out", type=DATA)
@workers_option
@_seed_option
@drafter_option
def written(out: Path, workers: int, seed: int, drafter: str) -> None:
    """Write the data set OUT of the calibration repositories, with the questions written by hand about them."""
    from winnow_research.training import prepare as building
    from winnow_research.training.examples.written import cases

    projects, recipe = repositories(Split.CALIBRATION), building.DataRecipe(1_500_000, seed)
    held_out = [*repositories(Split.DEVELOPMENT), *repositories(Split.TEST)]
    _save_new(building.prepare(projects, held_out, locate(drafter), recipe, say, workers, written=cases), out)


def _save_new(data: Dataset, out: Path) -> None:
    data.save(out)
    tokens, questions = len(data.units.values), len(data.questions)
    click.echo(f"{out}: {len(data.projects)} projects, {tokens:,} tokens, {questions:,} questions")


_clones_option = click.option(
    "--clones",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="Where the clones that `clones.toml` pins lie, OWNER/NAME.",
)


@click.command()
@click.argument("data", type=DATA)
@click.argument("out", type=DATA)
@_clones_option
@workers_option
@_alone_option
@drafter_option
def commits(data: Path, out: Path, clones: Path, workers: int, alone: bool, drafter: str) -> None:
    """Make questions of commits about the files of DATA. Write DATA with them to OUT.

    What each project gives is kept in a folder beside OUT, from which another run goes on.
    """
    from winnow_research.training.mining import KIND, with_commits
    from winnow_research.training.projects import load

    before = Dataset.load(data)
    after = with_commits(before, load(), locate(drafter), clones, out.with_suffix(".kept"), say, workers)
    _save(before, after, out, KIND if alone else None)


@click.command()
@click.argument("out", type=DATA)
@click.argument("data", type=DATA, nargs=-1, required=True)
def join(out: Path, data: tuple[Path, ...]) -> None:
    """Write the first DATA to OUT, with the kinds of questions that only others made of it have."""
    from winnow_research.training import adding

    first, *others = map(Dataset.load, data)
    _save(first, adding.join(first, others), out)


@click.command()
@click.argument("data", type=DATA)
@click.argument("out", type=DATA)
@click.option(
    "--model",
    default="qwen2.5-coder-1.5b",
    show_default=True,
    help="A name or a GGUF: a Qwen2.5 that follows instructions.",
)
@click.option(
    "--kind",
    type=click.Choice(("asked", "reported", "changed", "chained")),
    default="asked",
    show_default=True,
    help="Questions, what users report, what a change log says, or questions about several places.",
)
@click.option("--questions", type=click.IntRange(1), default=48_000, show_default=True, help="Code to ask about.")
@_seed_option
@_alone_option
def ask(data: Path, out: Path, model: str, kind: str, questions: int, seed: int, alone: bool) -> None:
    """Let a language model write questions about the code of DATA. Write DATA with them to OUT (minutes on a GPU)."""
    require("torch")
    from winnow_research.training import ask as writing

    recipe = writing.QuestionRecipe(kind, questions, seed=seed)
    before = Dataset.load(data)
    _save(before, writing.ask(before, locate(model), recipe, say), out, kind if alone else None)


def _save(before: Dataset, after: Dataset, out: Path, only: str | None = None) -> None:
    """Write a data set to which questions were added, or the questions of `only` one kind."""
    (after if only is None else questions_alone(after, only)).save(out)
    more = len(after.questions) - len(before.questions)
    click.echo(f"{out}: {more:,} questions more, {len(after.questions):,} in all")
