"""`winnow calibrate`: the profile of a drafter Winnow ships none for, or new fusion weights for one it does."""

from __future__ import annotations

import json
from pathlib import Path

import click

from winnow_engine.models.cache import locate
from winnow_engine.store import default_path
from winnow_lsp.cli.options import drafter_option
from winnow_lsp.cli.progress import ProgressView
from winnow_lsp.cli.session import cancel_on_interrupt
from winnow_research.calibration.calibrate import Calibration, place_of


@click.command()
@drafter_option
@click.option("--thorough", is_flag=True, help="Larger workspaces, and whole repositories: for a GPU.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes to share the work.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the profile here [where it is used from then on].")
def calibrate(drafter: str, thorough: bool, jobs: int, out: Path | None) -> None:
    """Learn which of a drafter's heads find answers, and how to weigh them against words and names.

    Fetches the sources of twelve projects on first use. A drafter with an adapter keeps it.
    """
    file = locate(drafter)
    place = out or place_of(file)
    store = default_path().with_name("evaluation.sqlite")
    with cancel_on_interrupt() as cancellation, ProgressView() as view:
        document = Calibration(store, thorough, jobs, _say, view, cancellation).run(file)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    click.echo(f"wrote {place}")


def _say(text: str) -> None:
    click.echo(text, err=True)
