"""`winnow calibrate`: the profile of a drafter Winnow ships none for, or new fusion weights for one it does."""

from __future__ import annotations

from pathlib import Path

import click

from winnow_engine.models.cache import locate
from winnow_lsp.cli.report import ProgressView
from winnow_lsp.cli.setting_options import drafter_option
from winnow_lsp.cli.terminal import cancel_on_interrupt
from winnow_research.calibration.calibrate import Calibration
from winnow_research.evaluation.cache import cache_path


@click.command()
@drafter_option
@click.option("--thorough", is_flag=True, help="Larger workspaces, and whole repositories: for a GPU.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes to share the work.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the profile to this folder [one where it is used from then on].",
)
def calibrate(drafter: str, thorough: bool, jobs: int, out: Path | None) -> None:
    """Learn which of a drafter's heads find answers, and how to weigh them against words and names.

    Fetches the sources of 21 projects on first use: twelve to learn from, and nine to check what was learned. A profile
    that does worse on those than what ships is not written. A drafter with an adapter keeps it, and its reranker.
    """
    if out is not None and out.suffix == ".json":
        raise click.UsageError(f"a profile is a folder now: --out {out.with_suffix('')}")
    store = cache_path()
    with cancel_on_interrupt() as cancellation, ProgressView() as view:
        folder = Calibration(store, thorough, jobs, _say, view, cancellation).run(locate(drafter), out)
    click.echo(f"wrote {folder}")


def _say(text: str) -> None:
    click.echo(text, err=True)
