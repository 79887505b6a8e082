"""A real server on real weights, and fixtures that connect to it.

One process on TCP serves all that `connect` connects, and one on standard input and output is `client`'s. All of it
lives on the session's event loop, so modules that use it mark their tests with that loop scope.
"""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from git_repositories import write

from winnow_engine.errors import ModelError
from winnow_engine.models import cache

from .capabilities import EVERYTHING, PLAIN
from .client import PATIENCE_S, Client, RawClient

MODEL = "smollm2-135m"
SERVE = [sys.executable, "-m", "winnow_lsp", "serve"]
SETTINGS = {
    "drafter": MODEL,
    "target": MODEL,
    "maxTokens": 16,
    "budget": 80,
    "cacheMegabytes": 30,  # too little for snapshots: some wait for the target to read
}

PROJECT = {
    "shop/pricing.py": '''
        """What an order costs."""

        HEAVY_FEE_CENTS = 1500


        def unit_price(price_cents: int, count: int) -> int:
            """The price of one piece in cents; ten or more pieces are a tenth cheaper."""
            return price_cents * 9 // 10 if count >= 10 else price_cents


        def delivery(heavy: bool) -> int:
            """The fee for delivery in cents: free unless something is heavy."""
            return HEAVY_FEE_CENTS if heavy else 0
        ''',
    "shop/checkout.py": '''
        """Paying for an order."""

        from shop.pricing import delivery, unit_price


        class Till:
            """Takes the money."""

            def pay(self, count: int, wallet_cents: int) -> int:
                """What is left in the wallet, in cents."""
                return wallet_cents - unit_price(450, count) * count - delivery(heavy=False)
        ''',
}


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An index of its own; the models are the ones that `winnow models pull` fetched."""
    try:
        cache.path(MODEL)
    except ModelError as error:
        pytest.fail(f"the server is tested with real weights: {error}", pytrace=False)
    return {**os.environ, "WINNOW_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="session")
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes a folder with the project in it."""

    def make() -> Path:
        root = tmp_path_factory.mktemp("workspace") / "shop"
        write(root, {name: textwrap.dedent(text).lstrip("\n") for name, text in PROJECT.items()})
        return root

    return make


@pytest.fixture(scope="session")
def folder(make_folder: Callable[[], Path]) -> Path:
    """The project, for tests that leave it as it is."""
    return make_folder()


@pytest.fixture
def own_folder(make_folder: Callable[[], Path]) -> Path:
    """The project, to do with as a test pleases."""
    return make_folder()


@pytest.fixture(scope="session")
def tcp_server(environment: dict[str, str]) -> Iterator[tuple[int, tuple[str, int]]]:
    """The number of the process that serves on TCP, and where it listens."""
    process = subprocess.Popen([*SERVE, "--tcp", "127.0.0.1:0"], env=environment, stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline()
    assert line.startswith("winnow: serving on "), line
    log = threading.Thread(target=lambda: sys.stderr.writelines(process.stderr))
    log.start()
    host, port = line.split()[-1].rsplit(":", 1)
    yield process.pid, (host, int(port))
    process.terminate()
    process.wait(PATIENCE_S)
    log.join()
    process.stderr.close()


@pytest.fixture(scope="session")
def address(tcp_server: tuple[int, tuple[str, int]]) -> tuple[str, int]:
    """Where the server on TCP listens."""
    return tcp_server[1]


@pytest_asyncio.fixture(loop_scope="session")
async def connect(address: tuple[str, int], folder: Path) -> AsyncIterator[Callable[..., Awaitable[Client]]]:
    """Makes clients of the server on TCP; they leave in order after the test, if they have not left before."""
    clients = []

    async def connect(
        *folders: Path, capabilities=PLAIN, options: Any = SETTINGS, prepare: Callable[[Client], None] = lambda _: None
    ) -> Client:
        client = Client()
        clients.append(client)
        prepare(client)
        await client.start_tcp(*address)
        await client.begin(folders or (folder,), capabilities, options)
        return client

    yield connect
    for client in clients:
        await client.leave()


@pytest_asyncio.fixture(loop_scope="session")
async def raw(address: tuple[str, int]) -> AsyncIterator[RawClient]:
    """A bare connection to the server on TCP."""
    client = RawClient(*await asyncio.open_connection(*address))
    yield client
    await client.close()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def on_stdio(environment: dict[str, str], folder: Path) -> AsyncIterator[Client]:
    """The client of the server on standard input and output."""
    client = Client()
    await client.start_io(*SERVE, env=environment)
    await client.begin((folder,), EVERYTHING, SETTINGS)
    yield client
    await client.leave()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def on_tcp(address: tuple[str, int], folder: Path) -> AsyncIterator[Client]:
    """A client of the server on TCP that lives as long as the tests."""
    client = Client()
    await client.start_tcp(*address)
    await client.begin((folder,), EVERYTHING, SETTINGS)
    yield client
    await client.leave()


@pytest.fixture
def client(on_stdio: Client) -> Client:
    """A client that can show everything, as most editors connect. It is shared: leave its documents closed."""
    return on_stdio
