"""Models and answers in the command's own process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import click

from winnow_engine.assistant import Assistant, open_assistant
from winnow_engine.config import Config, ModelConfig
from winnow_engine.core import Cancellation, ProgressSink
from winnow_engine.index.workspace import Sources
from winnow_engine.keys.encoders import OpenFleet
from winnow_engine.models.cache import locate
from winnow_engine.question import Question
from winnow_engine.sharing.index import attach
from winnow_engine.storage.store import Store, default_path
from winnow_engine.targets.opening import check_target
from winnow_engine.targets.remote.address import sent_to
from winnow_lsp.cli.options import folders_of
from winnow_lsp.cli.setting_options import config_of
from winnow_lsp.client.connection import Listener
from winnow_lsp.host.reply import Reply, flat_stats


@contextmanager
def assistant(config: Config, *, answers: bool, open_fleet: OpenFleet | None = None) -> Iterator[Assistant]:
    """An assistant so configured; its target is only opened if it `answers`. A fleet encodes instead of its drafter."""
    models = config.models
    check_models(models, answers=answers)
    with closing(Store(default_path())) as store:
        attach(store, config.shared_indexes)
        opened = open_assistant(models, store, answers=answers, on_compile=_say_compiling, open_fleet=open_fleet)
        with closing(opened) as made:
            yield made
        store.trim(models.index_bytes)


def sources_of(options: Mapping[str, Any]) -> Sources:
    """The workspace among a command's options."""
    return Sources(folders_of(options), config_of(options).files)


def check_models(models: ModelConfig, *, answers: bool) -> None:
    """Raise what is wrong with the models before anything starts; say if prompts are going to another machine."""
    locate(models.drafter)
    if not answers:
        return
    check_target(models)
    if host := sent_to(models.target):
        click.echo(f"winnow: answers come from {host}; your code is sent there", err=True)


def answer(
    helper: Assistant,
    question: Question,
    options: Mapping[str, Any],
    listener: Listener,
    progress: ProgressSink,
    cancellation: Cancellation,
) -> Reply:
    """The assistant's answer. Raises what the engine raises."""
    sources, config, heard = sources_of(options), config_of(options), listener
    answered = helper.ask(
        sources, question, config.budget, config.sampling, heard.on_text, progress, cancellation, heard.on_kept,
        heard.on_thought,
    )  # fmt: skip
    return Reply(
        answer=answered.text,
        citations=answered.citations,
        spans=answered.spans,
        stats=flat_stats(answered.stats),
        finish=answered.finish,
        notices=answered.notices,
        thinking=answered.thought,
        sentences=answered.sentences,
    )


def _say_compiling(kernel: str) -> None:
    click.echo(f"compiling {kernel} for the GPU", err=True)
