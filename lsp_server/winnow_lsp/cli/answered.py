"""A question of a command, answered by the shared server or in the command's own process."""

from __future__ import annotations

from typing import Any

import click

from winnow_engine.core import Cancellation
from winnow_engine.question import Question
from winnow_lsp.cli.options import folders_of, uses_server
from winnow_lsp.cli.progress import ProgressView
from winnow_lsp.cli.shared_server import answer_shared
from winnow_lsp.client.asking import Listener
from winnow_lsp.client.connection import ConnectionLostError
from winnow_lsp.host.reply import Reply


def answered(
    question: Question,
    options: dict[str, Any],
    server: bool,
    listener: Listener,
    view: ProgressView,
    cancellation: Cancellation,
) -> tuple[Reply, bool]:
    """The reply, and whether the shared server gave it. Raises what the engine raises."""
    reply = _from_server(question, options, listener, cancellation) if uses_server(server, options) else None
    if reply is not None:
        return reply, True
    from winnow_lsp.cli.in_process import answer

    return answer(question, options, listener, view, cancellation), False


def _from_server(
    question: Question, options: dict[str, Any], listener: Listener, cancellation: Cancellation
) -> Reply | None:
    """The shared server's answer; None if there is no server."""
    try:
        return answer_shared(folders_of(options), question, options, listener, cancellation)
    except ConnectionLostError as error:
        raise click.ClickException(f"{error}; ask again, or with --no-server") from error
