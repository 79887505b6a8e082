"""`winnow bench ttft`: how long the first token takes, with Winnow and without."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click

from winnow_cuda.device import availability
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_TARGET
from winnow_engine.storage.folders import cache_folder
from winnow_lsp.cli.setting_options import drafter_option
from winnow_lsp.cli.terminal import cancel_on_interrupt
from winnow_research.cli.bench.shared import say, writing
from winnow_research.evaluation.repositories import PinnedRepository, Split, repositories
from winnow_research.evaluation.tasks.real import load
from winnow_research.first_token.limited import Placement, limited
from winnow_research.first_token.run import BUDGETS, ROWS, FirstTokenRun, Plan
from winnow_research.first_token.synthetic import SHAPES, write_synthetic
from winnow_research.first_token.tables import lines
from winnow_research.machine import describe

_REPOSITORIES = {one.name: one for split in Split for one in repositories(split)}


def _sizes(_context: click.Context, _option: click.Parameter, value: str) -> list[int]:
    """Numbers of tokens from text such as `16k,128k`; k is 1,024."""
    parts = [re.fullmatch(r"([1-9]\d*)(k?)", part, re.IGNORECASE) for part in value.split(",")]
    if not all(parts):
        raise click.BadParameter(f"{value!r} is not a list of sizes such as 16k,128k")
    return sorted({int(part[1]) * (1024 if part[2] else 1) for part in parts if part})


def _asked_about(_context: click.Context, _option: click.Parameter, value: str) -> PinnedRepository:
    asked = sorted(name for name, one in _REPOSITORIES.items() if load(one))
    if value not in asked:
        raise click.BadParameter(f"nobody wrote questions about {value!r}; there are some about {', '.join(asked)}")
    return _REPOSITORIES[value]


@click.command()
@click.option("--target", metavar="NAME|FILE", default=DEFAULT_TARGET, show_default=True, help="A local model.")
@click.option("--synthetic", type=click.Choice(list(SHAPES)), help="In place of a target, random weights of its shape.")
@click.option("--gpu-memory", type=click.FloatRange(2), metavar="GB", help="So much of the GPU is free for all.")
@drafter_option
@click.option("--contexts", "sizes", default="16k,32k,64k,128k", show_default=True, callback=_sizes)
@click.option("--row", "rows", multiple=True, type=click.Choice(ROWS), help="Only this one [all].")
@click.option("--repository", default="fastify", show_default=True, callback=_asked_about)
@click.option("--repetitions", type=click.IntRange(1), default=5, show_default=True, help="Of each answer.")
@click.option("--vanilla-seconds", type=click.FloatRange(0), default=600, show_default=True, help="At most, a context.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write JSON here after each row.")
@click.option("--json", "as_document", is_flag=True, help="Print exactly one JSON object.")
def ttft(
    target: str,
    synthetic: str | None,
    gpu_memory: float | None,
    drafter: str,
    sizes: list[int],
    rows: tuple[str, ...],
    repository: PinnedRepository,
    repetitions: int,
    vanilla_seconds: float,
    out: Path | None,
    as_document: bool,
) -> None:
    """How long the first token takes, with Winnow and with the same target alone.

    Workspaces are cut from a pinned repository, fetched on first use; questions are those that people wrote about it.
    Vanilla has every file in its prompt, the fastest of four configurations; a configuration or repetition for which
    --vanilla-seconds leave no time is left out. Stages add up to the wall clock of the call.
    """
    file = locate(drafter)
    answering = _synthetic(synthetic, file) if synthetic else locate(target)
    about = {"target": synthetic or answering.name, "drafter": file.name, "repository": repository.name}
    with ExitStack() as opened:
        cancellation, placement = opened.enter_context(cancel_on_interrupt()), None
        if gpu_memory:
            opened.enter_context(limited(gpu_memory))
            placement = Placement.of(file, drafter, answering, BUDGETS["auto"].patience_s)
        plan = Plan(repository, sizes, rows or ROWS, repetitions, vanilla_seconds, answering, file, placement)
        run = opened.enter_context(closing(FirstTokenRun(plan, say, cancellation)))
        contexts: list[dict[str, Any]] = []
        machine = {**describe(), "device": availability().reason}
        document: dict[str, Any] = {"machine": machine, **about, "gpu_memory": gpu_memory, "contexts": contexts}
        for found, over in run.run():
            if found not in contexts:
                contexts.append(found)
            if out is not None:
                with writing(out):
                    out.write_text(f"{json.dumps(document, indent=2)}\n", encoding="utf-8")
            if over and not as_document:
                say("")
                click.echo("\n".join(lines(found)))
    if as_document:
        click.echo(json.dumps(document, indent=2))


def _synthetic(name: str, tokenizer: Path) -> Path:
    """The synthetic target, written on first use."""
    file = cache_folder() / "synthetic" / f"{name}-{tokenizer.stem}.gguf"
    if not file.is_file():
        say(f"writing {file}")
        with writing(file):
            write_synthetic(SHAPES[name], tokenizer, file)
    return file
