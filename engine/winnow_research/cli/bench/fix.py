"""`winnow bench fix`: what share of bugs a target mends, as *Fix this problem* asks it to."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import click

from winnow_engine.assistant import open_assistant
from winnow_engine.config import ModelConfig
from winnow_engine.core import Budget
from winnow_engine.store import Store
from winnow_lsp.cli.interrupts import cancel_on_interrupt
from winnow_lsp.cli.options import drafter_option, target_option
from winnow_research.cli.bench.shared import corpus_options, json_lines, say
from winnow_research.evaluation.fixes.run import MENDED, Fix, FixRun, bugs, outcomes
from winnow_research.evaluation.fixes.suites import suites
from winnow_research.evaluation.repositories import Split
from winnow_research.machine import describe


@click.command()
@click.option("--bugs", "count", type=click.IntRange(1), default=50, show_default=True, help="Of each project.")
@click.option("--skip", type=click.IntRange(0), default=0, help="Bugs of each project that another run has.")
@click.option("--budget", type=click.IntRange(1), default=800, show_default=True, help="Tokens kept around it.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write a line of JSON here per bug.")
@corpus_options
@drafter_option
@target_option
def fix(
    count: int,
    skip: int,
    budget: int,
    out: Path | None,
    split: str,
    seed: int,
    as_document: bool,
    drafter: str,
    target: str,
) -> None:
    """What share of bugs a target mends, as *Fix this problem* asks it to.

    Functions of pinned projects get one bug each, by rule; the problem is what the project's own tests say first, and
    these tests judge the fix. They run code that the model wrote, in a process with limits, and not in a sandbox.
    docs/results/2026-11-24-apply.md explains the figures.
    """
    models = ModelConfig(drafter, target)
    with (
        tempfile.TemporaryDirectory() as scratch,
        closing(Store(Path(scratch) / "index.sqlite")) as store,
        closing(open_assistant(models, store)) as assistant,
        cancel_on_interrupt() as cancellation,
        json_lines(out) as write,
    ):
        run = FixRun(assistant, Budget(budget), say, cancellation)
        fixes: list[Fix] = []
        about = {"split": split, "seed": seed, "drafter": drafter, "target": target, "budget": budget, "skip": skip}
        try:
            for suite in suites(Split(split), Path(scratch)):
                for one in run.run(islice(bugs(suite, seed), skip, skip + count)):
                    fixes.append(one)
                    write(one.as_json())
        finally:  # also what there is when the user has waited long enough
            _show(fixes, as_document, about)


def _show(fixes: Sequence[Fix], as_document: bool, about: dict[str, object]) -> None:
    say("")
    if as_document:
        rows = [one.as_json() for one in fixes]
        click.echo(json.dumps({**about, "machine": describe(), "outcomes": outcomes(fixes), "fixes": rows}, indent=2))
    else:
        click.echo("\n".join(_lines(fixes)))


def _lines(fixes: Sequence[Fix]) -> Iterator[str]:
    for outcome, count in outcomes(fixes).items():
        yield f"{outcome:24}{count:5}{100 * count / max(len(fixes), 1):6.0f}%"
    if fixes:
        restored = sum(one.restored for one in fixes)
        yield f"{'of these as before':24}{restored:5}" if restored else f"none of the {MENDED} is as it was before"
        yield f"median {statistics.median(one.seconds for one in fixes):.1f} s a bug, {len(fixes)} bugs"
