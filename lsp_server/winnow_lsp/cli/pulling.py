"""Targets that suit this machine, and downloads of models with their progress."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as RichProgress

from winnow_engine.core import Progress, ProgressSink
from winnow_engine.models import cache, registry
from winnow_engine.models.names import PREFIX
from winnow_engine.models.pull import pull
from winnow_engine.models.registry import ModelRole
from winnow_engine.models.target_table import source_of
from winnow_engine.platform import free_memory
from winnow_engine.targets.suggesting import Suggestion, best, drafter_of, suggest
from winnow_lsp.cli.setting_options import user_settings
from winnow_lsp.cli.terminal import show
from winnow_lsp.host.settings import Settings


def suggested() -> tuple[list[Suggestion], Suggestion | None]:
    """The targets for this machine, and the one that suits it and the user's settings best."""
    config = Settings.of(user_settings())
    patience = config.budget.patience_s
    found = suggest(drafter_of(config.models.drafter), free_memory(), patience)
    return found, best(found, patience)


def pull_one(name: str, *, as_json: bool = False) -> Path:
    """Pull a model and show how far that is. ModelNotFoundError, and what `fetch` raises."""
    source = source_of(name)
    with _progress(name, as_json) as sink:
        if not is_source(source):
            return pull(registry.find(name), cache.default_directory(), sink)
        from winnow_engine.targets.fetching import fetch, offer

        offered = offer(source)
        show(str(offered), err=True)  # others wrote its licence and architecture
        return fetch(offered, cache.default_directory(), sink)


def with_drafter(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of models, behind the user's drafter if that is missing: no target is asked without one."""
    drafter = Settings.of(user_settings()).models.drafter
    drafters = {model.name: model for model in registry.MODELS if ModelRole.DRAFTER in model.roles}
    lacks = drafter in drafters and not (cache.default_directory() / drafters[drafter].file).exists()
    return (drafter, *names) if lacks and not drafters.keys() & names else names


def is_source(name: str) -> bool:
    """True if a model comes from a hub or a URL."""
    return name.startswith((PREFIX, "https://", "http://"))


def shown_size(count: int) -> str:
    """A size in megabytes."""
    return f"{count / 1e6:,.0f} MB"


@contextmanager
def _progress(name: str, as_json: bool) -> Iterator[ProgressSink]:
    console = Console(stderr=True)
    if as_json or not console.is_interactive:
        yield _Lines(name, as_json)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with RichProgress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("", visible=False)
        yield lambda report: bar.update(
            task, visible=True, description=report.stage, completed=report.done, total=report.total
        )


class _Lines:
    """One line when the stage changes and at every further tenth, or a JSON object at every further percent."""

    def __init__(self, name: str, as_json: bool) -> None:
        self._name, self._as_json = name, as_json
        self._last = ("", 0)

    def __call__(self, report: Progress) -> None:
        last = (report.stage, (100 if self._as_json else 10) * report.done // report.total)
        if last == self._last:
            return
        self._last = last
        if self._as_json:
            step = {"model": self._name, "stage": report.stage, "done": report.done, "total": report.total}
            click.echo(json.dumps(step))
        else:
            click.echo(f"{report.stage}: {shown_size(report.done)} of {shown_size(report.total)}", err=True)
