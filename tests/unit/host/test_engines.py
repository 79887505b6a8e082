"""What an engine makes of a client's settings, without models."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.config import Models, TargetOptions
from winnow_engine.core import Turn
from winnow_engine.errors import ModelNotFoundError
from winnow_engine.store import Store
from winnow_lsp.host import engines


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[TargetOptions]:
    """The options of targets that engines wanted to open."""
    wanted: list[TargetOptions] = []

    def opener(_name: str, options: TargetOptions, _context: int | None) -> Callable[[], Any]:
        wanted.append(options)
        raise ModelNotFoundError("there is none")

    monkeypatch.setattr(engines, "locate", Path)
    monkeypatch.setattr(engines, "placed", lambda options, *_: options)
    monkeypatch.setattr(engines, "opener", opener)
    return wanted


@pytest.mark.parametrize("megabytes", [0, 7])
async def test_the_target_and_conversations_get_the_disk_that_is_granted(
    megabytes: int, opened: list[TargetOptions], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, asked = Store(tmp_path / "index.sqlite"), []
    monkeypatch.setattr(Store, "get", lambda _self, namespace, _keys: asked.append(namespace) or {})
    models = Models("d.gguf", "t.gguf", "f16", "off", snapshot_megabytes=megabytes)
    engine = engines.Engine(models, store)
    assistant = engine._assistant
    assistant._remembered.with_turns((Turn("Why?", "So."),))
    await asyncio.to_thread(engine.close)
    assert [options.snapshot_bytes for options in opened] == [megabytes * 10**6]
    assert bool(asked) == (megabytes > 0)


async def test_drafters_load_one_after_another_and_one_that_is_given_up_never(
    opened: list[TargetOptions], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads, begun, goes = [], threading.Event(), threading.Event()

    def load(path: Path, **_: Any) -> Any:
        loads.append(path.name)
        begun.set()
        goes.wait(60)
        raise ModelNotFoundError("there is none")

    monkeypatch.setattr(engines, "Drafter", load)
    store = Store(tmp_path / "index.sqlite")
    first = engines.Engine(Models("first.gguf", "t.gguf", "f16", "off"), store)
    assert await asyncio.to_thread(begun.wait, 60)
    given_up, last = (
        engines.Engine(Models(name, "t.gguf", "f16", "off"), store) for name in ("second.gguf", "last.gguf")
    )
    closing = asyncio.create_task(asyncio.to_thread(given_up.close))
    while not given_up._closing.cancelled:
        await asyncio.sleep(0)
    assert loads == ["first.gguf"]
    goes.set()
    await closing
    for engine in (first, last):
        await asyncio.to_thread(engine._assistant.keys.settle)
        await asyncio.to_thread(engine.close)
    assert loads == ["first.gguf", "last.gguf"]
