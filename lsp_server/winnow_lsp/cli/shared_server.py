"""The server that this user's commands share: found or started, asked, shown, and stopped."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import click

from winnow_engine.config import AUTO
from winnow_engine.core import Cancellation, Folder
from winnow_engine.git.repository import index_of_hook
from winnow_engine.models.cache import installed, locate
from winnow_engine.platform import is_unix
from winnow_engine.question import Question
from winnow_lsp.cli.options import folders_of, uses_server
from winnow_lsp.cli.setting_options import config_of
from winnow_lsp.client.connection import Connection, ConnectionLostError, Listener, NoServerError, ask, running, started
from winnow_lsp.host.reply import Reply
from winnow_lsp.host.socket_path import ServerFiles, UnsafeFolderError, all_server_files, server_files

if TYPE_CHECKING:
    from winnow_lsp.cli.in_process import OwnServer

_END_S = 30.0  # for a question in progress to stop


def connected(cancellation: Cancellation, *, agent: bool = False) -> socket.socket | None:
    """A connection to the shared server, which is started if need be. None, after a word, if there can be none."""
    try:
        place = server_files()
        at = place.agents if agent else place.socket
        if found := running(at):
            return found[0]
        click.echo("winnow: starting a server that keeps the models loaded; `winnow serve --stop` ends it", err=True)
        return started(place, at, cancellation)
    except (NoServerError, UnsafeFolderError, OSError) as error:
        click.echo(f"winnow: there is no shared server, so the models load here: {error}", err=True)
        return None


class AnsweringServer:
    """The shared server or, where there is none, one of this process. Any thread may ask."""

    def __init__(self, options: Mapping[str, Any], *, shared: bool) -> None:
        """Answer with a command's options; `shared` says whether the shared server is asked first."""
        self._options, self._shared = options, shared
        self._starting = Lock()
        self._own: OwnServer | None = None

    def answer(
        self, folders: Sequence[Folder], question: Question, listener: Listener, cancellation: Cancellation
    ) -> tuple[Reply, bool]:
        """The reply, and whether the shared server gave it. Raises what the engine raises, and ConnectionLostError."""
        server = self._connected(cancellation) if self._shared else None
        with closing(server or self._connected_here()) as connection:
            try:
                settings = self._options["settings"]
                reply = ask(Connection(connection), folders, question, settings, listener, cancellation)
            except ConnectionLostError as error:
                raise ConnectionLostError(f"the {'shared ' if server else ''}server failed: {error}") from error
        return reply, server is not None

    def close(self) -> None:
        """Free the models of this process."""
        if self._own is not None:
            self._own.close()

    def _connected(self, cancellation: Cancellation) -> socket.socket | None:
        models = config_of(self._options).models
        locate(models.drafter)
        if models.target == AUTO:
            next(installed(models.drafter))
        else:
            locate(models.target)  # ModelNotFoundError now: the server would give up the models that it has loaded
        return connected(cancellation)

    def _connected_here(self) -> socket.socket:
        from winnow_lsp.cli.in_process import OwnServer

        with self._starting:
            self._own = self._own or OwnServer(config_of(self._options).models)
        return self._own.connect()


def answered(
    questions: Sequence[Question],
    options: Mapping[str, Any],
    server: bool,
    listener: Listener,
    cancellation: Cancellation,
) -> Iterator[tuple[Reply, bool]]:
    """The reply to each question, and whether the shared server gave it. Raises what the engine raises."""
    folders = folders_of(options)
    in_hook = questions[0].changes and any(index_of_hook(folder.root) for folder in folders)
    shared = uses_server(server, options) and not in_hook  # the server does not know what is staged for it
    with closing(AnsweringServer(options, shared=shared)) as answering:
        for question in questions:
            try:
                yield answering.answer(folders, question, listener, cancellation)
            except ConnectionLostError as error:
                raise click.ClickException(f"{error}; ask again{', or with --no-server' if shared else ''}") from error


def show() -> int:
    """Say whether a shared server runs, and what it has loaded. The exit code is 1 if there is none."""
    if not (found := list(_running(lambda: [server_files()]))):
        return 1
    place, server, process = found[0]
    with closing(server):
        connection, never = Connection(server), Cancellation()
        try:
            connection.result("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, never)
            state = connection.result("winnow/server", None, never)
        except ConnectionLostError as error:
            click.echo(f"the shared server, process {process}, does not answer: {error}")
            return 1
    for line in _lines(state, place.log):
        click.echo(line)
    return 0


def stop() -> int:
    """End the shared servers, of other versions too; returns once they have. The exit code is 1 if one does not end."""
    return max([_ended(*found) for found in _running(all_server_files)], default=0)


def _ended(place: ServerFiles, server: socket.socket, process: int) -> int:
    with closing(server), suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
    if not is_unix():  # there it has ended at once
        place.socket.unlink(missing_ok=True)
    latest = time.monotonic() + _END_S
    while place.socket.exists() and time.monotonic() < latest:
        time.sleep(0.05)
    ended = not place.socket.exists()
    click.echo("stopped" if ended else f"process {process} has not ended yet")
    return 0 if ended else 1


def _running(places: Callable[[], list[ServerFiles]]) -> Iterator[tuple[ServerFiles, socket.socket, int]]:
    """The files of each server that runs, a connection to it, and its process. Says so if none runs."""
    any_runs = False
    try:
        for place in places():
            if found := running(place.socket):
                any_runs = True
                yield place, *found
    except (NoServerError, UnsafeFolderError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if not any_runs:
        click.echo("no shared server runs")


def _lines(state: Mapping[str, Any], log: Path) -> Iterator[str]:
    minutes, megabytes = (time.time() - state["startedAt"]) / 60, state["memoryBytes"] / 1e6
    yield f"process {state['process']}, for {minutes:.0f} min, {megabytes:,.0f} MB"
    for models in state["models"]:
        busy = ", answering" if models["questions"] else ", indexing" if models["busy"] else ""
        yield f"loaded: drafter {models['drafter']}, target {models['target']}{busy}"
    yield f"log: {log}"
