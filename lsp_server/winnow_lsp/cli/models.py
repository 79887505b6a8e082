"""`winnow models`: list, suggest, pull, locate and verify models. Data goes to stdout, progress to stderr."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as RichProgress
from rich.table import Column, Table

from winnow_engine.core import Progress, ProgressSink
from winnow_engine.errors import ModelDamagedError
from winnow_engine.models import cache, registry
from winnow_engine.models.cache import FileState
from winnow_engine.models.pull import pull
from winnow_engine.models.registry import RegisteredModel
from winnow_lsp.cli import completion
from winnow_lsp.cli.suggest import suggest_models


@click.group()
def models() -> None:
    """Manage the model files in the cache ($WINNOW_MODELS_DIR, or the platform's cache directory)."""


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array instead of a table.")
def list_models(as_json: bool) -> None:
    """List the models Winnow knows and whether their files are here (by size and header; `verify` hashes)."""
    directory = cache.default_directory()
    states = [(model, cache.quick_state(model, directory)) for model in registry.MODELS]
    if as_json:
        click.echo(json.dumps([_record(model, state, directory) for model, state in states], indent=2))
    else:
        Console().print(_table(states))


models.add_command(suggest_models)


@models.command("pull")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=completion.models)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line: each step, then each file.")
def pull_models(names: tuple[str, ...], as_json: bool) -> None:
    """Download models into the cache; without NAME, the default drafter and target.

    An interrupted download continues where it stopped.
    """
    wanted = [registry.find(name) for name in names or (registry.DEFAULT_DRAFTER, registry.DEFAULT_TARGET)]
    for model in wanted:
        with _progress(model, as_json) as sink:
            file = pull(model, progress=sink)
        click.echo(json.dumps({"model": model.name, "file": str(file)}) if as_json else file)


@models.command("path")
@click.argument("name", shell_complete=completion.models)
def print_path(name: str) -> None:
    """Print where the file of the model NAME is."""
    click.echo(cache.path(name))


@models.command("remove")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=completion.models)
def remove_models(names: tuple[str, ...]) -> None:
    """Delete the files of models from the cache, and what of them was received."""
    for model in [registry.find(name) for name in names]:
        click.echo(f"{model.name}: removed, {_size(cache.remove(model, cache.default_directory()))}")


@models.command("verify")
def verify_models() -> None:
    """Check the size and SHA-256 of every model file in the cache."""
    directory = cache.default_directory()
    states = cache.verify(directory)
    Console().print(_table(states))
    damaged = [directory / model.file for model, state in states if state is FileState.DAMAGED]
    if damaged:
        files = ", ".join(map(str, damaged))
        raise ModelDamagedError(f"damaged: {files}; run `winnow models remove NAME` and `winnow models pull NAME`")


def _record(model: RegisteredModel, state: FileState, directory: Path) -> dict[str, object]:
    return {
        "name": model.name,
        "roles": list(model.roles),
        "file": str(directory / model.file),
        "bytes": model.bytes,
        "sha256": model.sha256,
        "licence": model.licence,
        "state": state,
    }


def _table(states: list[tuple[RegisteredModel, FileState]]) -> Table:
    columns = (Column(name, overflow="fold") for name in ("role", "size", "licence", "state"))
    table = Table(Column("name", no_wrap=True), *columns, box=None, pad_edge=False)
    for model, state in states:
        table.add_row(model.name, ", ".join(model.roles), _size(model.bytes), model.licence, state)
    return table


def _size(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"


@contextmanager
def _progress(model: RegisteredModel, as_json: bool) -> Iterator[ProgressSink]:
    """A bar on a terminal, lines elsewhere; as JSON on stdout if wanted."""
    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        yield _Lines(model, as_json)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with RichProgress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("", visible=False)
        yield lambda report: bar.update(
            task, visible=True, description=report.stage, completed=report.done, total=report.total
        )


class _Lines:
    """One line when the stage changes and at every further tenth, or a JSON object at every further percent."""

    def __init__(self, model: RegisteredModel, as_json: bool) -> None:
        self._model, self._as_json = model, as_json
        self._last = ("", 0)

    def __call__(self, report: Progress) -> None:
        last = (report.stage, (100 if self._as_json else 10) * report.done // report.total)
        if last == self._last:
            return
        self._last = last
        if self._as_json:
            step = {"model": self._model.name, "stage": report.stage, "done": report.done, "total": report.total}
            click.echo(json.dumps(step))
        else:
            click.echo(f"{report.stage}: {_size(report.done)} of {_size(report.total)}", err=True)
