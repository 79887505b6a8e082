"""`winnow bench needles`: needles in a haystack, and RULER's tasks."""

from __future__ import annotations

from fnmatch import fnmatchcase

import click

from winnow_engine.core import Budget
from winnow_lsp.cli.options import drafter_option
from winnow_research.cli.bench.shared import corpus_options, opened, parse_sizes, say, show
from winnow_research.evaluation.needles import all_tests
from winnow_research.evaluation.needles.base import Test
from winnow_research.evaluation.needles.materials import load
from winnow_research.evaluation.needles.run import NeedleRun
from winnow_research.evaluation.scores import scores


@click.command()
@click.option("--test", "pattern", default="*", show_default=True, help="Only tests like this, for instance ruler*.")
@click.option("--tokens", default="8k,32k,128k", show_default=True, callback=parse_sizes, help="Workspace sizes.")
@click.option("--trials", type=click.IntRange(1), default=20, show_default=True, help="Of each test and size.")
@click.option("--keep-ratio", type=click.FloatRange(0, 1, min_open=True), default=0.05, show_default=True)
@click.option("--budget", type=click.IntRange(1), help="Tokens to keep, instead of a share of the workspace.")
@click.option("--target", metavar="NAME|FILE|URL", help="Also have this target answer, from what is kept and from all.")
@corpus_options
@drafter_option
def needles(
    pattern: str,
    tokens: list[int],
    trials: int,
    keep_ratio: float,
    budget: int | None,
    target: str | None,
    split: str,
    seed: int,
    as_document: bool,
    drafter: str,
) -> None:
    """How often a needle in a haystack of code or prose is kept and found, and RULER's tasks.

    Fetches pinned sources on first use. docs/results/2026-11-22-needles.md explains every figure.
    """
    chosen = _tests(pattern)
    kept = Budget(keep_ratio=keep_ratio) if budget is None else Budget(keep_tokens=budget)
    with opened(drafter, target, split, trials, seed) as bench:
        run = NeedleRun(load(bench.corpus), bench.assistant, kept, say, bench.cancellation)
        found = scores(run.run(chosen, tokens, trials))
        about = {"split": split, "seed": seed, "drafter": bench.drafter.name, "target": target}
        show(found, run.absent, as_document, **about, keep=budget or keep_ratio)


def _tests(pattern: str) -> list[Test]:
    chosen = [test for name, test in all_tests().items() if fnmatchcase(name, pattern)]
    if not chosen:
        raise click.BadParameter(
            f"no test is like {pattern!r}; there are {', '.join(all_tests())}", param_hint="--test"
        )
    return chosen
