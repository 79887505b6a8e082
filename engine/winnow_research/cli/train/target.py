"""`winnow train target`: an update that teaches a target to answer questions about code."""

from __future__ import annotations

from pathlib import Path

import click

from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_TARGET
from winnow_research.cli.train.shared import DATA, require


@click.command()
@click.argument("out", type=DATA)
@click.option("--target", default=DEFAULT_TARGET, show_default=True, help="A name or a GGUF: a Qwen2.5.")
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), default=170.0, show_default=True, help="A stage."
)
@click.option("--attention", is_flag=True, help="Update the matrices of the attention alone.")
@click.option("--rank", type=click.IntRange(1, 64), default=16, show_default=True)
@click.option("--prefer", is_flag=True, help="Then prefer its own right answers to its own wrong ones (DPO).")
def target(out: Path, target: str, seconds: float, attention: bool, rank: int, prefer: bool) -> None:
    """Fetch the projects that have written answers, train on these, and write OUT, a GGUF for llama.cpp."""
    require("torch")
    from winnow_research.training.target.examples import ExampleWriter
    from winnow_research.training.target.trainer import TaughtRecipe, teach
    from winnow_research.training.target.written import written

    model = locate(target)
    writer = ExampleWriter(model)
    examples = [*writer.chat(), *(one for project, answers in written() for one in writer.about(project, answers))]
    click.echo(f"{len(examples):,} examples")
    recipe = TaughtRecipe(seconds=seconds, rank=rank, all_matrices=not attention, preferring=prefer)
    teach(model, examples, writer.vocabulary, out, recipe, lambda text: click.echo(text, err=True))
