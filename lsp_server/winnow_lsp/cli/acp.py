"""`winnow acp`: an agent for editors that speak the Agent Client Protocol."""

from __future__ import annotations

import logging
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from winnow_engine.core import Cancellation, Folder
from winnow_engine.question import Question
from winnow_lsp.acp.agent import AcpAgent
from winnow_lsp.acp.lines import FAILED, RequestError, standard_streams
from winnow_lsp.cli.loaded_models import LoadedModels
from winnow_lsp.cli.options import server_option, uses_server
from winnow_lsp.cli.setting_options import setting_options
from winnow_lsp.client.asking import Listener
from winnow_lsp.host.reply import Reply


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
