"""`winnow acp`: an agent for editors that speak the Agent Client Protocol.

Without a shared server, its own models load for the first question and stay.
"""

from __future__ import annotations

import logging
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from winnow_engine.core import Cancellation, Folder
from winnow_engine.question import Question
from winnow_lsp.acp.agent import AcpAgent
from winnow_lsp.acp.messages import FAILED, JsonRpcLines, RequestError
from winnow_lsp.cli.options import server_option, uses_server
from winnow_lsp.cli.setting_options import config_of, setting_options
from winnow_lsp.cli.shared_server import AnsweringServer
from winnow_lsp.client.connection import ConnectionLostError, Listener
from winnow_lsp.host.reply import Reply
from winnow_lsp.host.standard_output import take_standard_output


@click.command()
@setting_options("budget", "drafter", "target")
@server_option
def acp(server: bool, **options: Any) -> None:
    """Answer questions in an editor's agent panel, on standard input and output; see docs/editors/acp.md.

    The editor says which folder a conversation is about. These options hold for all of them.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with closing(AnsweringServer(options, shared=uses_server(server, options))) as answering:

        def answer(folder: Path, question: Question, listener: Listener, cancellation: Cancellation) -> Reply:
            try:
                return answering.answer((Folder(folder),), question, listener, cancellation)[0]
            except ConnectionLostError as error:
                raise RequestError(FAILED, f"{error}; ask again", "ConnectionLostError") from error

        client = JsonRpcLines(sys.stdin.buffer, take_standard_output())
        AcpAgent(client, answer, config_of(options).files).serve()
