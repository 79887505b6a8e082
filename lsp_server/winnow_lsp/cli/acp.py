"""`winnow acp`: an agent for editors that speak the Agent Client Protocol.

Without a shared server, its own models load for the first question and stay.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winnow_engine.core import Cancellation, Folder, Kept, ProgressSink
from winnow_engine.question import Question
from winnow_engine.runtime import FairLock
from winnow_lsp.acp.agent import AcpAgent
from winnow_lsp.acp.messages import FAILED, RequestError, standard_streams
from winnow_lsp.cli.options import server_option, uses_server
from winnow_lsp.cli.setting_options import config_of, setting_options
from winnow_lsp.client.connection import Listener
from winnow_lsp.host.reply import Reply, Waiting

if TYPE_CHECKING:
    from winnow_engine.assistant import Assistant


class LoadedModels:
    """Answers one question at a time. Any thread may ask."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options, self._turn = options, FairLock(1)
        self._open = ExitStack()
        self._assistant: Assistant | None = None

    def answer(self, folder: Path, question: Question, listener: Listener, cancellation: Cancellation) -> Reply:
        """The answer about a folder. Raises what the engine raises."""
        from winnow_lsp.cli.in_process import answer, assistant

        listener.on_stage("waiting for the models")
        with self._turn.held(cancellation):
            cancellation.check()
            if self._assistant is None:
                self._assistant = self._open.enter_context(assistant(config_of(self._options), answers=True))
            options = {**self._options, "workspace": (str(folder),)}
            telling, progress = _with_progress(listener)
            return answer(self._assistant, question, options, telling, progress, cancellation)

    def close(self) -> None:
        """Free the models, once what runs has ended."""
        with self._turn.held(Cancellation()):
            self._open.close()


def _with_progress(listener: Listener) -> tuple[Listener, ProgressSink]:
    """A listener and a progress sink that tell `listener` of progress in lines, as the server does."""
    waiting = Waiting()

    def on_kept(kept: Kept) -> None:
        waiting.kept(kept)
        listener.on_kept(kept)

    return replace(listener, on_kept=on_kept), lambda progress: listener.on_stage(waiting.reported(progress))


@click.command()
@setting_options("budget", "drafter", "target")
@server_option
def acp(server: bool, **options: Any) -> None:
    """Answer questions in an editor's agent panel, on standard input and output; see docs/editors/acp.md.

    The editor says which folder a conversation is about. These options hold for all of them.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    shared = uses_server(server, options)
    with closing(LoadedModels(options)) as here:

        def answer(folder: Path, question: Question, listener: Listener, cancellation: Cancellation) -> Reply:
            reply = _from_server(folder, question, options, listener, cancellation) if shared else None
            return reply or here.answer(folder, question, listener, cancellation)

        AcpAgent(standard_streams(), answer).serve()


def _from_server(
    folder: Path, question: Question, options: dict[str, Any], listener: Listener, cancellation: Cancellation
) -> Reply | None:
    from winnow_lsp.cli.shared_server import answer_shared
    from winnow_lsp.client.connection import ConnectionLostError

    try:
        return answer_shared((Folder(folder),), question, options, listener, cancellation)
    except ConnectionLostError as error:
        raise RequestError(FAILED, f"{error}; ask again", "ConnectionLostError") from error
