"""`winnow train`: data for, and training of, adapters, rerankers and drafts. docs/training.md has the recipes."""

from __future__ import annotations

import importlib

import click

from winnow_lsp.cli.main import LazyGroup

_COMMANDS = {
    "ask": "Let a language model write questions about the code of a data set.",
    "commits": "Make questions of commits about the files of a data set.",
    "draft": "Train a draft for `--set speculate=` on what `prompts` wrote.",
    "join": "Join the kinds of questions of data sets.",
    "judge": "Judge a reranker by what is kept with it.",
    "mean": "Write the mean of several adapters.",
    "prepare": "Fetch the pinned projects and write a data set.",
    "prompts": "Fetch the pinned projects and write prompts about them: what a draft is trained on.",
    "run": "Train an adapter on a data set.",
    "reranker": "Train a reranker on a data set.",
    "ship": "Write what ships of a trained draft.",
    "written": "Write a data set of the calibration repositories, with the questions written by hand.",
}
_MODULES = {
    **dict.fromkeys(("ask", "commits", "join", "prepare", "written"), "data"),
    **dict.fromkeys(("mean", "run"), "adapter"),
    **dict.fromkeys(("draft", "prompts", "ship"), "draft"),
    "judge": "judge",
    "reranker": "reranker",
}


def _load(name: str) -> click.Command:
    command: click.Command = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    return command


@click.group(cls=LazyGroup, summaries=_COMMANDS, load=_load)
def train() -> None:
    """Train the adapter that makes a language model a drafter, or a draft for a target (needs PyTorch)."""
