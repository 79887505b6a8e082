"""`winnow models`: list, suggest for this machine, pull, locate and verify models."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import click
import psutil
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from winnow_engine.core import counted
from winnow_engine.errors import ModelDamagedError
from winnow_engine.models import cache, registry
from winnow_engine.models.cache import FileState
from winnow_engine.models.registry import ModelRole, RegisteredModel
from winnow_engine.models.target_table import source_of
from winnow_engine.platform import free_memory, physical_cores
from winnow_engine.targets.remote.discovery import FoundModel, discover
from winnow_engine.targets.residency import any_gpu_bytes
from winnow_engine.targets.suggesting import Suggestion
from winnow_lsp.cli import completion
from winnow_lsp.cli.local_servers import command, described
from winnow_lsp.cli.pulling import is_source, pull_one, shown_size, suggested, with_drafter

_NARROWEST = 80  # columns of a table; a narrower terminal wraps its lines, instead of Rich each cell
_PLACES = {"resident": "GPU", "cpu": "CPU", None: "does not fit"}
_MARKS = {"measured": "", "forecast": "≈", "unknown": ""}
_MEANINGS = {
    "measured": "tokens/s without ≈ is what this model was last seen to read on this machine",
    "forecast": "≈ is a forecast from small models of random weights on this machine, without a draft's gain",
    "unknown": "? is unknown: the GPU could not be measured, and counts as fast until it has read something",
}


@click.command("suggest")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def suggest_models(as_json: bool) -> None:
    """Suggest targets for this machine's memory and GPU, with the time until the first token.

    Servers on this machine are asked what they serve; nothing else is sent or fetched.
    """
    suggestions, chosen = suggested()
    found = discover()
    if as_json:
        click.echo(json.dumps(_document(suggestions, chosen, found), indent=2))
    else:
        _print(suggestions, chosen, found)


def _print(suggestions: list[Suggestion], chosen: Suggestion | None, found: tuple[FoundModel, ...]) -> None:
    total, (gpu_free, gpu) = psutil.virtual_memory().total, any_gpu_bytes()
    free = f"{free_memory() / 1e9:.1f} of {total / 1e9:.1f} GB of memory free"
    click.echo(f"{counted(physical_cores(), 'core')}, {free}; GPU: {gpu}\n")
    _show(_suggestions_table(suggestions))
    for reason, names in _reasons(suggestions, has_gpu=gpu_free is not None).items():
        click.echo(f"\n{', '.join(names)}: {reason}")
    for origin in sorted({one.origin for one in suggestions}):
        click.echo(f"\n{_MEANINGS[origin]}")
    for model in found:
        click.echo(f"\nfound: {described(model)}: {command(model)}")
    click.echo(f"\n{_advice(chosen)}")


def _reasons(suggestions: list[Suggestion], *, has_gpu: bool) -> dict[str, list[str]]:
    """Why targets do not fit, or not on the GPU that there is, with the names of those."""
    found: dict[str, list[str]] = {}
    for one in suggestions:
        if one.place is None or (one.place == "cpu" and has_gpu):
            found.setdefault(one.reason.rstrip("."), []).append(f"{one.model.name} {_PLACES[one.place]}")
    return found


def _show(table: Table) -> None:
    Console(width=max(Console().width, _NARROWEST)).print(table)


def _suggestions_table(suggestions: list[Suggestion]) -> Table:
    names = ("runs on", "needs", "tokens/s", "tokens kept", "first token", "answer")
    columns = (Column(name, overflow="fold") for name in names)
    table = Table(Column("target", no_wrap=True), *columns, box=None, pad_edge=False)
    for one in suggestions:
        rate, first = one.tokens_per_s, one.first_token_s
        table.add_row(
            escape(one.model.name),
            ", ".join(filter(None, (_PLACES[one.place], one.split if one.place else ""))),
            f"{one.needs_bytes / 1e9:.1f} GB",
            f"{_MARKS[one.origin]}{rate:,.0f}" if rate else "?",
            f"{one.prompt_tokens:,}",
            f"{first:.1f} s" if first is not None else "?",
            f"≈{one.answer_tokens_per_s:.1f}/s" if one.answer_tokens_per_s else "?",
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
    total, (gpu_free, gpu) = psutil.virtual_memory().total, any_gpu_bytes()
    machine = {"cores": physical_cores(), "memoryBytes": total, "memoryAvailableBytes": free_memory()}
    return {
        "machine": machine | {"gpu": gpu, "gpuFreeBytes": gpu_free},
        "suggested": chosen.model.name if chosen else None,
        "targets": [_suggestion_record(one) for one in suggestions],
        "found": [_found_record(one) for one in found],
    }


def _found_record(one: FoundModel) -> dict[str, Any]:
    return {"model": one.model, "server": one.server, "url": one.url, "context": one.context}


def _suggestion_record(one: Suggestion) -> dict[str, Any]:
    return {
        "name": one.model.name,
        "here": one.here,
        "bytes": one.model.bytes,
        "licence": one.model.licence,
        "fits": one.place is not None,
        "place": one.place,
        "split": one.split,
        "reason": one.reason,
        "needsBytes": one.needs_bytes,
        "throughput": one.origin,
        "tokensPerS": one.tokens_per_s,
        "promptTokens": one.prompt_tokens,
        "firstTokenS": one.first_token_s,
        "answerTokensPerS": one.answer_tokens_per_s,
    }


@click.group()
def models() -> None:
    """Manage the model files in the cache ($WINNOW_MODELS_DIR, or the platform's cache directory)."""


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array instead of a table.")
def list_models(as_json: bool) -> None:
    """List the models Winnow knows and those that were pulled (by size and header; `verify` hashes)."""
    directory = cache.default_directory()
    states = [(model, cache.quick_state(model, directory)) for model in registry.MODELS]
    pulled = cache.all_pulled(directory)
    if as_json:
        records = [_record(model, state, directory) for model, state in states]
        click.echo(json.dumps([*records, *(_pulled_record(*one) for one in pulled.items())], indent=2))
    else:
        table = _table(states, directory)
        for name, files in pulled.items():
            state, size, read = cache.pulled_state(files[0]), shown_size(_bytes(files)), _last_read(files[0])
            table.add_row(escape(name), ModelRole.TARGET, size, "", state, read)
        _show(table)


models.add_command(suggest_models)


@models.command("pull")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=completion.models)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line: each step, then each file.")
def pull_models(names: tuple[str, ...], as_json: bool) -> None:
    """Download models into the cache; without NAME, the default drafter and target.

    NAME is one of `winnow models list` or `suggest`, hf:OWNER/REPO or hf:OWNER/REPO:QUANT for a GGUF on a model hub, or
    the URL of a GGUF. An interrupted download continues where it stopped. A target brings the drafter if it is missing.
    """
    names = with_drafter(names or (registry.DEFAULT_DRAFTER, registry.DEFAULT_TARGET))
    for name in names:
        if not is_source(source_of(name)):
            registry.find(name)  # before anything is fetched
    for name in names:
        file = pull_one(name, as_json=as_json)
        click.echo(json.dumps({"model": name, "file": str(file)}) if as_json else file)
    if registry.DEFAULT_DRAFTER in names:
        from winnow_engine.encoder.drafter import Drafter

        click.echo("preparing the drafter for this machine", err=True)  # its kernels are compiled, once
        Drafter(cache.locate(registry.DEFAULT_DRAFTER))


@models.command("path")
@click.argument("name", shell_complete=completion.models)
def print_path(name: str) -> None:
    """Print where the file of the model NAME is."""
    click.echo(cache.locate(name))


@models.command("remove")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=completion.models)
def remove_models(names: tuple[str, ...]) -> None:
    """Delete the files of models from the cache, and what of them was received."""
    for name in names:
        click.echo(f"{name}: removed, {shown_size(cache.remove(name, cache.default_directory()))}")


@models.command("verify")
def verify_models() -> None:
    """Check the size and SHA-256 of every model file in the cache."""
    directory = cache.default_directory()
    states = cache.verify(directory)
    _show(_table(states, directory))
    damaged = [directory / model.file for model, state in states if state is FileState.DAMAGED]
    if damaged:
        files = ", ".join(map(str, damaged))
        raise ModelDamagedError(f"damaged: {files}; run `winnow models remove NAME` and `winnow models pull NAME`")


def _record(model: RegisteredModel, state: FileState, directory: Path) -> dict[str, object]:
    shown = {name: getattr(model, name) for name in ("name", "bytes", "sha256", "licence")}
    return shown | {"roles": list(model.roles), "file": str(directory / model.file), "state": state}


def _pulled_record(name: str, files: tuple[Path, ...]) -> dict[str, object]:
    state = cache.pulled_state(files[0])
    return {"name": name, "roles": ["target"], "file": str(files[0]), "bytes": _bytes(files), "state": state}


def _table(states: list[tuple[RegisteredModel, FileState]], directory: Path) -> Table:
    columns = (Column(name, overflow="fold") for name in ("role", "size", "licence", "state", "last read"))
    table = Table(Column("name", no_wrap=True), *columns, box=None, pad_edge=False)
    for model, state in states:
        read = _last_read(directory / model.file) if state is FileState.OK else ""
        table.add_row(model.name, ", ".join(model.roles), shown_size(model.bytes), model.licence, state, read)
    return table


def _bytes(files: tuple[Path, ...]) -> int:
    return sum(file.stat().st_size for file in files)


def _last_read(file: Path) -> str:
    """The day on which a file was last read, as far as its file system notes that."""
    return date.fromtimestamp(file.stat().st_atime).isoformat()
