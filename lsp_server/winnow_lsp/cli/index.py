"""`winnow index`: the cached keys of a repository, and which of its files count."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from winnow_engine.index.files import explain as explain_file
from winnow_lsp.cli.interrupts import cancel_on_interrupt
from winnow_lsp.cli.options import config_of, drafter_option, workspace_options
from winnow_lsp.cli.progress import ProgressView
from winnow_lsp.cli.session import assistant, sources_of


@click.command()
@workspace_options
@drafter_option
@click.option("--explain", metavar="PATH", help="Say whether one file counts, and by which rule; index nothing.")
def index(explain: str | None, **options: Any) -> None:
    """Read, parse and encode the workspace, so that the first question need not."""
    if explain is not None:
        _explain(Path(options["workspace"]), explain, options)
        return
    started = time.perf_counter()
    with (
        cancel_on_interrupt() as cancellation,
        assistant(config_of(options).models, answers=False) as helper,
        ProgressView() as view,
    ):
        workspace = helper.index(sources_of(options), view, cancellation)
    units = len(workspace.units)
    click.echo(f"{len(workspace.files):,} files, {units:,} units, {time.perf_counter() - started:.1f} s")


def _explain(root: Path, path: str, options: dict[str, Any]) -> None:
    verdict = explain_file(root, Path(path), config_of(options).files)
    click.echo(f"{path}: {'counts' if verdict.included else 'left out'}: {verdict.reason}")
