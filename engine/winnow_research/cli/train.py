"""`winnow train`: data and training of the drafter's adapter and of drafts. docs/training.md has the recipes."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from winnow_engine.core import Progress
from winnow_engine.errors import TrainingError
from winnow_engine.models.cache import locate
from winnow_lsp.cli.options import drafter_option
from winnow_research.training.adding import questions_alone
from winnow_research.training.batches import Mixture
from winnow_research.training.dataset import Dataset

_DATA = click.Path(path_type=Path, dir_okay=False)
_AS_MANY_AS_FIT = 1_000_000  # updates, where minutes decide
_alone_option = click.option(
    "--alone", is_flag=True, help="Write the questions without the files' text, to be joined: about 2 MB."
)
_profile_option = click.option(
    "--profile",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write a profile with the adapter to this folder, as docs/training.md says.",
)


@click.group()
def train() -> None:
    """Train the adapter that makes a language model a drafter, or a draft for a target (needs PyTorch)."""


@train.command()
@click.argument("out", type=_DATA)
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--seed", default=0, show_default=True)
@click.option("--development", is_flag=True, help="Instead, the development split's questions: for `recall`.")
@drafter_option
def prepare(out: Path, workers: int, seed: int, development: bool, drafter: str) -> None:
    """Fetch the pinned projects and write the data set OUT (about 45 MB, ten minutes on two cores)."""
    from winnow_research.training import development as judged
    from winnow_research.training import prepare as building
    from winnow_research.training.projects import load

    file = locate(drafter)
    if development:
        data = judged.development(file, 128_000, _say)
    else:
        data = building.prepare(load(), file, building.DataRecipe(seed=seed), _say, workers)
    data.save(out)
    tokens, questions = len(data.units.values), len(data.questions)
    click.echo(f"{out}: {len(data.projects)} projects, {tokens:,} tokens, {questions:,} questions")


@train.command()
@click.argument("data", type=_DATA)
@click.argument("out", type=_DATA)
@click.option(
    "--clones",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="Where the clones that `clones.toml` pins lie, OWNER/NAME.",
)
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@_alone_option
@drafter_option
def commits(data: Path, out: Path, clones: Path, workers: int, alone: bool, drafter: str) -> None:
    """Make questions of commits about the files of DATA. Write DATA with them to OUT.

    What each project gives is kept in a folder beside OUT, from which another run goes on.
    """
    from winnow_research.training.mining import KIND, with_commits
    from winnow_research.training.projects import load

    before = Dataset.load(data)
    after = with_commits(before, load(), locate(drafter), clones, out.with_suffix(".kept"), _say, workers)
    _save(before, after, out, KIND if alone else None)


@train.command()
@click.argument("out", type=_DATA)
@click.argument("data", type=_DATA, nargs=-1, required=True)
def join(out: Path, data: tuple[Path, ...]) -> None:
    """Write the first DATA to OUT, with the kinds of questions that only the others have.

    All must have been made from one data set.
    """
    from winnow_research.training.adding import joined_kinds

    first, *others = map(Dataset.load, data)
    _save(first, joined_kinds(first, others), out)


@train.command()
@click.argument("data", type=_DATA)
@click.argument("out", type=_DATA)
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
@click.option("--questions", type=click.IntRange(1), help="Pieces of code to ask about [the recipe's].")
@click.option("--seed", default=0, show_default=True)
@_alone_option
def ask(data: Path, out: Path, model: str, kind: str, questions: int | None, seed: int, alone: bool) -> None:
    """Let a language model write questions about the code of DATA. Write DATA with them to OUT (minutes on a GPU)."""
    _require("torch")
    from winnow_research.training import ask as writing

    recipe = (
        writing.QuestionRecipe(kind, seed=seed)
        if questions is None
        else writing.QuestionRecipe(kind, questions, seed=seed)
    )
    before = Dataset.load(data)
    _save(before, writing.ask(before, locate(model), recipe, _say), out, kind if alone else None)


@train.command()
@click.argument("data", type=_DATA)
@click.argument("out", type=_DATA)
@click.option("--steps", type=click.IntRange(1), help="Updates [the recipe's].")
@click.option("--seed", default=0, show_default=True)
@click.option("--turns", multiple=True, metavar="KIND=N", help="How many of a kind come in a round [the recipe's].")
@click.option("--learning-rate", type=click.FloatRange(0, min_open=True), help="The highest [the recipe's].")
@click.option("--from", "start", type=_DATA, help="An adapter to train further, instead of a new one.")
@click.option(
    "--recompute",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Compute so many layers anew in the backward pass: less memory, more time.",
)
@click.option("--checkpoint", type=_DATA, help="Written as training goes on; where it exists, training resumes there.")
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
    recompute: int,
    checkpoint: Path | None,
    every: int,
    profile: Path | None,
    drafter: str,
) -> None:
    """Train on DATA and write the adapter OUT (safetensors), with its recipe and losses beside it (JSON)."""
    _require("torch")
    from winnow_engine.drafter.adapter import AdapterProfile
    from winnow_research.training import trainer

    file, dataset = locate(drafter), Dataset.load(data)
    given: dict[str, Any] = {"steps": steps, "learning_rate": learning_rate, "recomputed": recompute or None}
    recipe = trainer.TrainingRecipe(seed=seed, **{name: value for name, value in given.items() if value is not None})
    recipe = replace(recipe, mixture=_with_turns(recipe.mixture, turns, dataset))
    if start is not None:
        recipe = recipe.after(AdapterProfile(start))
    losses = []

    def report(step: trainer.Step) -> None:
        losses.append(asdict(step))
        if step.step % 20 == 0 or step.step == recipe.steps:
            click.echo(f"step {step.step} of {recipe.steps}: loss {step.loss}, answer first {step.first}", err=True)

    trainer.train(file, dataset, recipe, out, report, checkpoint, every, start)
    if not losses:
        return  # one of torchrun's other processes
    record = {"recipe": asdict(recipe), "data": hashlib.sha256(data.read_bytes()).hexdigest(), "steps": losses}
    out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    _write_profile(profile, out, file)


@train.command()
@click.argument("out", type=_DATA)
@click.argument("adapters", type=_DATA, nargs=-1, required=True)
@_profile_option
@drafter_option
def mean(out: Path, adapters: tuple[Path, ...], profile: Path | None, drafter: str) -> None:
    """Write the mean of several ADAPTERS to OUT: of their updates to the drafter's weights, and of their heads."""
    from winnow_research.training.mean import mean as write_mean

    held = write_mean(adapters, out)
    click.echo(f"{out}: the mean of {len(adapters)}; its rank holds {held:.1%} of it")
    if profile is not None:
        _write_profile(profile, out, locate(drafter))


@train.command()
@click.argument("data", type=_DATA)
@click.argument("adapter", type=_DATA)
@drafter_option
def recall(data: Path, adapter: Path, drafter: str) -> None:
    """Print as JSON how often ADAPTER keeps what the questions of DATA (from `prepare --development`) need."""
    _require("torch")
    from winnow_research.training.recall import recall_of

    click.echo(json.dumps(recall_of(locate(drafter), Dataset.load(data), adapter), indent=1))


@train.command()
@click.argument("data", type=_DATA)
@click.argument("out", type=_DATA)
@click.option("--minutes", default=7.0, show_default=True, help="For the first stage's lists and training together.")
@click.option("--steps", type=click.IntRange(1), help="Updates at most [the recipe's].")
@click.option("--layers", type=click.IntRange(1), help="Of the drafter [the recipe's].")
@click.option("--rank", type=click.IntRange(1), help="Of the updates [the recipe's].")
@click.option("--segments", type=click.IntRange(1), help="Of 2,048 tokens, that are read of a question [the recipe's].")
@click.option("--asked", type=click.IntRange(1), help="Questions with lists [the recipe's].")
@click.option("--projects", default=0, show_default=True, help="Of these so many; 0: all.")
@click.option("--batch", type=click.IntRange(1), help="Questions in a batch, two batches a step [the recipe's].")
@click.option("--first", is_flag=True, help="Learn how much the first stage's scores count, too.")
@click.option("--seed", default=0, show_default=True)
@click.option("--adapter", type=_DATA, help="The first stage [the one that ships].")
@drafter_option
def reader(
    data: Path,
    out: Path,
    minutes: float,
    steps: int | None,
    layers: int | None,
    rank: int | None,
    segments: int | None,
    asked: int | None,
    projects: int,
    batch: int | None,
    first: bool,
    seed: int,
    adapter: Path | None,
    drafter: str,
) -> None:
    """Train a joint reader on DATA and write OUT (safetensors), with its record beside it (JSON)."""
    _require("torch")
    from winnow_research.training.reader.lists import ListRecipe
    from winnow_research.training.reader.run import train_reader
    from winnow_research.training.reader.trainer import ReaderRecipe

    given = {"steps": steps, "layers": layers, "rank": rank, "segments": segments, "questions": batch}
    recipe = ReaderRecipe(first=first, seed=seed, **{name: value for name, value in given.items() if value is not None})
    lists = ListRecipe(projects=projects, seed=seed) if asked is None else ListRecipe(asked, projects, seed=seed)
    train_reader(
        locate(drafter),
        Dataset.load(data),
        out,
        lists,
        recipe,
        minutes,
        lambda text: click.echo(text, err=True),
        adapter,
    )


_target_option = click.option(
    "--target",
    default="qwen2.5-coder-1.5b",
    show_default=True,
    help="A name or a GGUF: the model that the draft is for, a Qwen2.5.",
)


@train.command()
@click.argument("out", type=_DATA)
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
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
    data = prepare(projects, repositories(Split.DEVELOPMENT), locate(target), recipe, _say, workers)
    data.save(out)
    asked, code, judged = map(len, (data.asked, data.code, data.judged))
    click.echo(f"{out}: {asked:,} prompts, {code:,} texts of code, {judged:,} prompts to judge by")


@train.command()
@click.argument("data", type=_DATA)
@click.argument("out", type=_DATA)
@click.option("--answers", type=click.IntRange(1), help="Prompts that the target answers [the recipe's].")
@click.option("--steps", type=click.IntRange(1), help="Updates of all sittings [the recipe's].")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Stop after these, whatever the steps.")
@click.option("--more", is_flag=True, help="Another sitting will follow: keep the learning rate up.")
@click.option("--seed", default=0, show_default=True)
@_target_option
def draft(
    data: Path,
    out: Path,
    answers: int | None,
    steps: int | None,
    minutes: float | None,
    more: bool,
    seed: int,
    target: str,
) -> None:
    """Train a draft for `--speculate` on DATA (from `prompts`), and write OUT (GGUF) and what belongs to it.

    Run again, it goes on from the checkpoint beside OUT.
    """
    _require("torch")
    from winnow_research.training.draft.run import train_draft
    from winnow_research.training.draft.trainer import DraftRecipe, Sitting

    given = {"answers": answers, "steps": steps if minutes is None or steps else _AS_MANY_AS_FIT}
    recipe = DraftRecipe(seed=seed, **{name: value for name, value in given.items() if value is not None})
    sitting = Sitting(math.inf if minutes is None else 60 * minutes, last=not more)
    train_draft(data, locate(target), out, recipe, lambda text: click.echo(text, err=True), sitting)
    click.echo(f"{out}: use it with `--speculate {out}`, with {out.with_suffix('.safetensors').name} beside it")


def _write_profile(folder: Path | None, adapter: Path, drafter: Path) -> None:
    """Write a profile with the adapter and the fusion weights that ship, which `winnow calibrate` can replace."""
    from winnow_engine.drafter.adapter import AdapterProfile  # here, since Numba comes with it
    from winnow_engine.drafter.profiles import fingerprint, fusion_for, write_profile
    from winnow_engine.drafter.weights import GgufTensors
    from winnow_engine.models.gguf_header import read_header

    if folder is not None:
        name = fingerprint(GgufTensors(drafter, read_header(drafter)))
        write_profile(folder, name, fusion_for(AdapterProfile(adapter)), adapter=adapter)
        click.echo(f"wrote {folder}")


def _with_turns(mixture: Mixture, turns: tuple[str, ...], data: Dataset) -> Mixture:
    """The mixture with other turns for some kinds. BadParameter for something that is not a kind of the data."""
    given = {}
    for one in turns:
        kind, _, number = one.partition("=")
        if kind not in data.kinds or not number.isdecimal() or not int(number):
            raise click.BadParameter(f"{one}: wanted KIND=N, a kind of {', '.join(data.kinds)}", param_hint="--turns")
        given[kind] = int(number)
    return replace(mixture, turns={**mixture.turns, **given})


def _save(before: Dataset, after: Dataset, out: Path, only: str | None = None) -> None:
    """Write a data set to which questions were added, or the questions of `only` one kind."""
    (after if only is None else questions_alone(after, only)).save(out)
    more = len(after.questions) - len(before.questions)
    click.echo(f"{out}: {more:,} questions more, {len(after.questions):,} in all")


def _require(*packages: str) -> None:
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise TrainingError(
            f"{' and '.join(missing)} missing: in a checkout of Winnow, run "
            "`pip install -e './engine/winnow_research[train]'`"
        )


def _say(report: Progress) -> None:
    if report.done == report.total or report.done % 10 == 0:
        click.echo(f"{report.stage}: {report.done} of {report.total or 'some'}", err=True)
