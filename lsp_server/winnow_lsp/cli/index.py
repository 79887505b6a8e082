"""`winnow index`: the cached keys of repositories, and which of their files count."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import click

from winnow_engine.assistant import Assistant
from winnow_engine.config import FileRules
from winnow_engine.core import Cancellation, Folder, counted
from winnow_engine.fleet.fleet import Fleet
from winnow_engine.index.files import explain as explain_file
from winnow_engine.index.workspace import Sources, Workspace
from winnow_lsp.cli import completion
from winnow_lsp.cli.in_process import assistant
from winnow_lsp.cli.options import folders_of, json_option, workspaces_option
from winnow_lsp.cli.report import ProgressView
from winnow_lsp.cli.setting_options import config_of, setting_options
from winnow_lsp.cli.terminal import cancel_on_interrupt


@click.command()
@workspaces_option
@setting_options("drafter")
@click.option(
    "--explain",
    metavar="PATH",
    help="Say by which rule one file counts or not; index nothing.",
    shell_complete=completion.files,
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the index there, for others to use.",
)
@click.option("--name", metavar="NAME", help="The repository's name in that index [the folder's].")
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Encode with N workers, one a GPU; needs winnow-lsp[ray]."
)
@click.option("--address", metavar="ADDRESS", help="Have the Ray cluster there run the workers.")
@json_option
def index(
    explain: str | None,
    out: Path | None,
    name: str | None,
    workers: int | None,
    address: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Read, parse and encode the workspace, so that the first question need not."""
    folders, config = folders_of(options), config_of(options)
    if len(folders) > 1 and (name is not None or explain is not None):
        raise click.UsageError("--name and --explain go with a single --workspace")
    if name is not None and out is None:
        raise click.UsageError("--name goes with --out")
    if explain is not None:
        _explain(folders[0].root, explain, config.files, as_json)
        return
    indexed = []
    apart = workers is not None or address is not None
    open_fleet = (lambda drafter: Fleet(config.models.drafter, drafter, workers, address)) if apart else None
    opened = assistant(config, open_fleet=open_fleet, must_save=True)
    with cancel_on_interrupt() as cancellation, opened as helper:
        for folder in folders:
            one, workspace = _index(helper, folder, config.files, cancellation, as_json)
            indexed.append(one)
            if out is not None:
                shard = helper.publish(workspace, out, name or folder.name or folder.root.name)
                _say(f"{shard.record_bytes / 1e6:,.1f} MB in {out}, as {shard.content}", as_json)
        for notice in helper.notices:
            click.echo(f"winnow: {notice}", err=True)
    if as_json:
        click.echo(json.dumps({"indexed": indexed}))


def _index(
    helper: Assistant, folder: Folder, rules: FileRules, cancellation: Cancellation, as_json: bool
) -> tuple[dict[str, Any], Workspace]:
    """Index one repository on its own: what its records are called depends on no other."""
    started = time.perf_counter()
    with ProgressView(quiet=as_json) as view:
        workspace = helper.index(Sources((Folder(folder.root),), rules), view, cancellation)
    files, units, seconds = len(workspace.files), len(workspace.units), time.perf_counter() - started
    said = f"{counted(files, 'file')}, {counted(units, 'unit')}, {seconds:.1f} s"
    _say(f"{folder.name}: {said}" if folder.name else said, as_json)
    return {"folder": str(folder.root), "files": files, "units": units, "seconds": seconds}, workspace


def _say(line: str, as_json: bool) -> None:
    if not as_json:
        click.echo(line)


def _explain(root: Path, path: str, rules: FileRules, as_json: bool) -> None:
    """Say whether a file counts. It is named from the working directory, or else from the workspace."""
    here = Path(path).parent.resolve() / Path(path).name  # a link is asked about, not what it leads to
    verdict = explain_file(root, here if here.is_relative_to(root) and os.path.lexists(here) else Path(path), rules)
    if as_json:
        click.echo(json.dumps({"path": path, "counts": verdict.included, "reason": verdict.reason}))
    else:
        click.echo(f"{path}: {'counts' if verdict.included else 'left out'}: {verdict.reason}")
