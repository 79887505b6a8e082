"""Models in the command's own process."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import closing, contextmanager
from threading import Thread
from typing import Any

import click

from winnow_engine.assistant import Assistant, open_assistant
from winnow_engine.config import Config, ModelConfig
from winnow_engine.index.workspace import Sources
from winnow_engine.keys.encoders import OpenFleet
from winnow_engine.models.cache import locate
from winnow_engine.sharing.index import attach
from winnow_engine.storage.store import Store, default_path
from winnow_engine.targets.opening import check_target
from winnow_engine.targets.remote.address import sent_to
from winnow_lsp.cli.options import folders_of
from winnow_lsp.cli.setting_options import config_of
from winnow_lsp.host.engines import Engines
from winnow_lsp.server.serving import server_maker
from winnow_lsp.server.wire.transport import converse


@contextmanager
def assistant(config: Config, *, open_fleet: OpenFleet | None = None, must_save: bool = False) -> Iterator[Assistant]:
    """An assistant so configured, without a target. A fleet encodes instead of its drafter."""
    models = config.models
    locate(models.drafter)  # an error now, before anything starts
    log = logging.getLogger("winnow_cuda")  # of GPU kernels that are compiled, which takes seconds
    log.setLevel(logging.INFO)
    log.addHandler(logging.StreamHandler())
    with closing(Store(default_path(), must_save=must_save)) as store:
        attach(store, config.shared_indexes)
        opened = open_assistant(models, store, answers=False, open_fleet=open_fleet)
        with closing(opened) as made:
            yield made
        store.trim(models.index_bytes)


def sources_of(options: Mapping[str, Any]) -> Sources:
    """The workspace among a command's options."""
    return Sources(folders_of(options), config_of(options).files)


def check_models(models: ModelConfig) -> None:
    """Raise what is wrong with the models before anything starts; say if prompts are going to another machine."""
    locate(models.drafter)
    check_target(models)
    if host := sent_to(models.target):
        click.echo(f"winnow: answers come from {host}; your code is sent there", err=True)


class OwnServer:
    """The language server on a thread of this process, where no shared one is asked. Any thread may connect."""

    def __init__(self, models: ModelConfig) -> None:
        """Raise what is wrong with the models. They load with the first question, and stay until `close`."""
        check_models(models)
        logging.getLogger("pygls").setLevel(logging.ERROR)  # a bug of ours keeps its traceback
        self._store, self._loop = Store(default_path()), asyncio.new_event_loop()
        self._engines = Engines(self._store, keep_last=True)
        self._make_server, self._clients = server_maker(self._engines), list[Future[None]]()
        self._thread = Thread(target=self._loop.run_forever, name="winnow-server", daemon=True)
        self._thread.start()

    def connect(self) -> socket.socket:
        """A connection to it."""
        ours, theirs = socket.socketpair()
        self._clients.append(asyncio.run_coroutine_threadsafe(self._converse(theirs), self._loop))
        return ours

    def close(self) -> None:
        """Free the models, once the clients have left."""
        wait(self._clients)
        asyncio.run_coroutine_threadsafe(self._engines.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._store.close()

    async def _converse(self, theirs: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=theirs)
        with closing(writer):  # also where no server could be made: the client would wait for ever
            await converse(self._make_server(), reader, writer)
