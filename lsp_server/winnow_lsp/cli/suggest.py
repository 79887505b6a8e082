"""`winnow models suggest`: targets for this machine, with the time until their first token."""

from __future__ import annotations

import json
from typing import Any

import click
import psutil
from rich.console import Console
from rich.table import Column, Table

from winnow_engine.core import counted
from winnow_engine.models import registry
from winnow_engine.platform import physical_cores
from winnow_engine.targets.remote.discovery import FoundModel, discover
from winnow_engine.targets.residency import any_gpu_bytes
from winnow_engine.targets.suggesting import Suggestion, best, suggest
from winnow_lsp.cli.local_servers import command, described
from winnow_lsp.cli.setting_options import user_settings
from winnow_lsp.host.settings import Settings

_PLACES = {"resident": "GPU", "on-demand": "GPU, on demand", "cpu": "CPU", None: "does not fit"}
_MEANINGS = {
    "measured": "measured: what this model was last seen to read on this machine",
    "assumed": "assumed: not measured on this machine yet; a guess from its cores and the model's size",
    "unknown": "unknown: a GPU counts as fast until it has read something",
}


@click.command("suggest")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def suggest_models(as_json: bool) -> None:
    """Suggest targets for this machine's memory and GPU, with the time until the first token.

    Servers on this machine are asked what they serve; nothing else is sent or fetched.
    """
    config = Settings.of(user_settings())
    patience, drafter = config.budget.patience_s, config.models.drafter
    if all(drafter != model.name for model in registry.MODELS):
        drafter = registry.DEFAULT_DRAFTER  # a file may be as large
    suggestions = suggest(registry.find(drafter), psutil.virtual_memory().available, patience)
    chosen, found = best(suggestions, patience), discover()
    if as_json:
        click.echo(json.dumps(_document(suggestions, chosen, found), indent=2))
    else:
        _print(suggestions, chosen, found)


def _print(suggestions: list[Suggestion], chosen: Suggestion | None, found: tuple[FoundModel, ...]) -> None:
    memory, (gpu_free, gpu) = psutil.virtual_memory(), any_gpu_bytes()
    free = f"{memory.available / 1e9:.1f} of {memory.total / 1e9:.1f} GB of memory free"
    click.echo(f"{counted(physical_cores(), 'core')}, {free}; GPU: {gpu}\n")
    Console().print(_table(suggestions))
    for reason, names in _reasons(suggestions, has_gpu=gpu_free is not None).items():
        click.echo(f"\n{', '.join(names)}: {reason}")
    for origin in sorted({one.origin for one in suggestions}):
        click.echo(f"\n{_MEANINGS[origin]}")
    for model in found:
        click.echo(f"\nfound: {described(model)}; how fast it reads is known once it answers: {command(model)}")
    click.echo(f"\n{_advice(chosen)}")


def _reasons(suggestions: list[Suggestion], *, has_gpu: bool) -> dict[str, list[str]]:
    """Why targets do not fit, or not on the GPU that there is, with the names of those."""
    found: dict[str, list[str]] = {}
    for one in suggestions:
        if one.place is None or (one.place == "cpu" and has_gpu):
            found.setdefault(one.reason.rstrip("."), []).append(f"{one.model.name} {_PLACES[one.place]}")
    return found


def _table(suggestions: list[Suggestion]) -> Table:
    names = ("runs on", "needs", "tokens/s", "", "tokens kept", "first token")
    columns = (Column(name, overflow="fold") for name in names)
    table = Table(Column("target", no_wrap=True), *columns, box=None, pad_edge=False)
    for one in suggestions:
        rate, first = one.tokens_per_s, one.first_token_s
        table.add_row(
            one.model.name,
            _PLACES[one.place],
            f"{one.needs_bytes / 1e9:.1f} GB",
            f"{rate:,.0f}" if rate else "?",
            one.origin,
            f"{one.prompt_tokens:,}",
            f"{first:.1f} s" if first is not None else "?",
        )
    return table


def _advice(chosen: Suggestion | None) -> str:
    if chosen is None:
        return "none of these fits this machine's memory: use a server on another machine (--target URL)"
    name = chosen.model.name
    return f"suggested: winnow ask --target {name}" if chosen.here else f"suggested: winnow models pull {name}"


def _document(
    suggestions: list[Suggestion], chosen: Suggestion | None, found: tuple[FoundModel, ...]
) -> dict[str, Any]:
    memory, (gpu_free, gpu) = psutil.virtual_memory(), any_gpu_bytes()
    machine = {"cores": physical_cores(), "memoryBytes": memory.total, "memoryAvailableBytes": memory.available}
    return {
        "machine": machine | {"gpu": gpu, "gpuFreeBytes": gpu_free},
        "suggested": chosen.model.name if chosen else None,
        "targets": [_record(one) for one in suggestions],
        "found": [{"model": one.model, "server": one.server, "url": one.url, "context": one.context} for one in found],
    }


def _record(one: Suggestion) -> dict[str, Any]:
    return {
        "name": one.model.name,
        "here": one.here,
        "fits": one.place is not None,
        "place": one.place,
        "reason": one.reason,
        "needsBytes": one.needs_bytes,
        "throughput": one.origin,
        "tokensPerS": one.tokens_per_s,
        "promptTokens": one.prompt_tokens,
        "firstTokenS": one.first_token_s,
    }
