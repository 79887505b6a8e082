"""A call over HTTP stops when its client has gone."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest
from starlette.requests import Request

from winnow_engine.errors import CancelledError
from winnow_lsp.mcp.serving import attended


class Client:
    """The other end of a request's connection."""

    def __init__(self) -> None:
        self.gone, self.begun, self.stopped = asyncio.Event(), asyncio.Event(), False
        self.request = Request({"type": "http"}, self._receive)

    async def _receive(self) -> MutableMapping[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def work(self, seconds: float) -> str:
        self.begun.set()
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.stopped = True
            raise
        return "done"


async def test_work_is_done_while_its_client_is_there() -> None:
    client = Client()
    assert await attended(client.request, client.work(0.01)) == "done"
    assert await attended(None, client.work(0.01)) == "done"


@pytest.mark.parametrize(("error", "says"), [(CancelledError, "gone"), (asyncio.CancelledError, "")])
async def test_work_stops_when_its_client_has_gone_or_cancels_it(error: type[BaseException], says: str) -> None:
    client = Client()
    calling = asyncio.create_task(attended(client.request, client.work(3600)))
    await client.begun.wait()
    (client.gone.set if says else calling.cancel)()
    with pytest.raises(error, match=says or None):
        await calling
    assert client.stopped
