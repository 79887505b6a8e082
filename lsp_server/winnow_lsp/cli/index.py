"""`winnow index`: the cached keys of a repository, and which of its files count."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from winnow_engine.assistant import Assistant
from winnow_engine.config import FileRules
from winnow_engine.core import Cancellation
from winnow_engine.index.files import explain as explain_file
from winnow_engine.index.workspace import Folder, Sources, Workspace
from winnow_lsp.cli.interrupts import cancel_on_interrupt
from winnow_lsp.cli.options import config_of, drafter_option, folders_of, workspaces_options
from winnow_lsp.cli.progress import ProgressView
from winnow_lsp.cli.session import assistant


@click.command()
@workspaces_options
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
    folders, config = folders_of(options), config_of(options)
    if len(folders) > 1 and (name is not None or explain is not None):
        raise click.UsageError("--name and --explain go with a single --workspace")
    if name is not None and out is None:
        raise click.UsageError("--name goes with --out")
    if explain is not None:
        _explain(folders[0].root, explain, config.files)
        return
    with cancel_on_interrupt() as cancellation, assistant(config, answers=False) as helper:
        for folder in folders:
            workspace = _index(helper, folder, config.files, cancellation)
            if out is not None:
                shard = helper.publish(workspace, out, name or folder.name or folder.root.name)
                click.echo(f"{shard.record_bytes / 1e6:,.1f} MB in {out}, as {shard.content}")


def _index(helper: Assistant, folder: Folder, rules: FileRules, cancellation: Cancellation) -> Workspace:
    """Index one repository on its own: what its records are called depends on no other."""
    started = time.perf_counter()
    with ProgressView() as view:
        workspace = helper.index(Sources((Folder(folder.root),), rules), view, cancellation)
    counts = f"{len(workspace.files):,} files, {len(workspace.units):,} units"
    click.echo(f"{folder.name}{': ' if folder.name else ''}{counts}, {time.perf_counter() - started:.1f} s")
    return workspace


def _explain(root: Path, path: str, rules: FileRules) -> None:
    verdict = explain_file(root, Path(path), rules)
    click.echo(f"{path}: {'counts' if verdict.included else 'left out'}: {verdict.reason}")
