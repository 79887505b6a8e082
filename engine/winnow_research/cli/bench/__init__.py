"""`winnow bench`: how good and how fast Winnow is, measured where it runs."""

from __future__ import annotations

import importlib

import click

from winnow_lsp.cli.main import LazyGroup

_COMMANDS = {
    "answers": "How often answers are right from what Winnow keeps, against the full context.",
    "decode": "How fast the target decodes with each draft, and whether it says the same.",
    "faults": "Whether the index survives kill -9, power cuts, a full disk and other faults.",
    "histories": "Whether commits are found that real histories name, against git.",
    "index": "How fast a workspace is indexed, what that takes, and how long questions wait.",
    "kernels": "Speed and error of every GPU kernel on this machine.",
    "relevance": "How often the code that a question needs is kept, by task and method.",
    "ttft": "How long the first token takes, with Winnow and with the target alone.",
}


def _load(name: str) -> click.Command:
    command: click.Command = getattr(importlib.import_module(f"{__name__}.{name}"), name)
    return command


@click.group(cls=LazyGroup, summaries=_COMMANDS, load=_load)
def bench() -> None:
    """Measure Winnow: what it keeps, how fast the target decodes, and how fast the kernels are."""
