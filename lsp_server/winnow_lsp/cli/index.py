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
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the index there, for others to use with --shared-index.",
)
@click.option("--name", metavar="NAME", help="What the repository is called in that index [the folder's name].")
def index(explain: str | None, out: Path | None, name: str | None, **options: Any) -> None:
    """Read, parse and encode the workspace, so that the first question need not."""
    if name is not None and out is None:
        raise click.UsageError("--name goes with --out")
    if explain is not None:
        _explain(Path(options["workspace"]), explain, options)
        return
    started = time.perf_counter()
    with (
        cancel_on_interrupt() as cancellation,
        assistant(config_of(options), answers=False) as helper,
        ProgressView() as view,
    ):
        workspace = helper.index(sources_of(options), view, cancellation)
        shard = helper.publish(workspace, out, name or _name(options["workspace"])) if out else None
    units = len(workspace.units)
    click.echo(f"{len(workspace.files):,} files, {units:,} units, {time.perf_counter() - started:.1f} s")
    if shard is not None:
        click.echo(f"{shard.record_bytes / 1e6:,.1f} MB in {out}, as {shard.content}")


def _name(workspace: Path) -> str:
    return workspace.resolve().name or "root"


def _explain(root: Path, path: str, options: dict[str, Any]) -> None:
    verdict = explain_file(root, Path(path), config_of(options).files)
    click.echo(f"{path}: {'counts' if verdict.included else 'left out'}: {verdict.reason}")
