"""Answers a question in the command's own process."""

from __future__ import annotations

from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.core import Cancellation, ProgressSink
from winnow_engine.question import Question
from winnow_engine.targets.answer import Answer
from winnow_lsp.cli.session import assistant, sources_of
from winnow_lsp.cli.setting_options import config_of
from winnow_lsp.client.asking import Listener
from winnow_lsp.host.reply import Reply
from winnow_lsp.host.stats import flat_stats


def answer(
    question: Question, options: dict[str, Any], listener: Listener, progress: ProgressSink, cancellation: Cancellation
) -> Reply:
    """What the models answer once they are loaded. Raises what the engine raises."""
    with assistant(config_of(options), answers=True) as helper:
        return answer_with(helper, question, options, listener, progress, cancellation)


def answer_with(
    helper: Assistant,
    question: Question,
    options: dict[str, Any],
    listener: Listener,
    progress: ProgressSink,
    cancellation: Cancellation,
) -> Reply:
    """What models that are loaded answer. Raises what the engine raises."""
    config = config_of(options)
    answered = helper.ask(
        sources_of(options),
        question,
        config.budget,
        config.sampling,
        listener.on_text,
        progress,
        cancellation,
        listener.on_kept,
        listener.on_thought,
    )
    return _reply(answered)


def _reply(answered: Answer) -> Reply:
    return Reply(
        answer=answered.text,
        citations=answered.citations,
        spans=answered.spans,
        stats=flat_stats(answered.stats),
        finish=answered.finish,
        notices=answered.notices,
        thinking=answered.thought,
    )
