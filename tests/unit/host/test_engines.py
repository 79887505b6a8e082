"""What an engine makes of a client's settings, without models."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from winnow_engine import assistant
from winnow_engine.config import AUTO, ModelConfig, TargetOptions
from winnow_engine.errors import ModelNotFoundError
from winnow_engine.question import Turn
from winnow_engine.storage.store import Store
from winnow_engine.targets import opening
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.residency import MemoryNeeds
from winnow_lsp.host import engines

from ..targets.conftest import write_llama

MODELS = ModelConfig("d.gguf", "t.gguf", "f16", "off")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[TargetOptions]:
    """The options of targets that engines wanted to open."""
    wanted: list[TargetOptions] = []

    def refuse(_path: Path, options: TargetOptions) -> LlamaTarget:
        wanted.append(options)
        raise ModelNotFoundError("there is none")

    monkeypatch.setattr(assistant, "locate", Path)
    monkeypatch.setattr(opening, "locate", Path)
    monkeypatch.setattr(opening, "measure", lambda *_: MemoryNeeds(None, "no GPU", 0, 0, 0, False))
    monkeypatch.setattr(LlamaTarget, "open", refuse)
    return wanted


@pytest.mark.parametrize(("megabytes", "snapshot_bytes"), [(9, 3 * 10**6), (0, 0)])  # 0 deletes what is there
async def test_the_target_and_conversations_get_the_disk_that_is_granted(
    megabytes: int, snapshot_bytes: int, opened: list[TargetOptions], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, looked_up, written = Store(tmp_path / "index.sqlite"), [], []
    monkeypatch.setattr(Store, "get", lambda _self, namespace, _keys: looked_up.append(namespace) or {})
    monkeypatch.setattr(Store, "put", lambda *given: written.append(given))
    models = ModelConfig("d.gguf", "t.gguf", "f16", "off", cache_megabytes=megabytes)
    engine = engines.Engine(models, store)
    engine._assistant._conversations.with_turns((Turn("Why?", "So."),))
    await asyncio.to_thread(engine.close)
    assert [options.snapshot_bytes for options in opened] == [snapshot_bytes]
    assert bool(looked_up) == bool(megabytes), "conversations are looked up on disk"
    assert megabytes or written == []
    assert megabytes or models.index_bytes == ModelConfig().index_bytes == 4000 * 10**6


async def test_drafters_load_one_after_another_and_one_that_is_given_up_never(
    opened: list[TargetOptions], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads, begun, goes = [], threading.Event(), threading.Event()

    def load(path: Path, **_: Any) -> Any:
        loads.append(path.name)
        begun.set()
        goes.wait(60)
        raise ModelNotFoundError("there is none")

    monkeypatch.setattr(assistant, "Drafter", load)
    store = Store(tmp_path / "index.sqlite")
    first = engines.Engine(ModelConfig("first.gguf", "t.gguf", "f16", "off"), store)
    assert await asyncio.to_thread(begun.wait, 60)
    given_up, last = (
        engines.Engine(ModelConfig(name, "t.gguf", "f16", "off"), store) for name in ("second.gguf", "last.gguf")
    )
    closing = asyncio.create_task(asyncio.to_thread(given_up.close))
    while not given_up._assistant._encoders._closing.cancelled:
        await asyncio.sleep(0)
    assert loads == ["first.gguf"]
    goes.set()
    await closing
    for engine in (first, last):
        await asyncio.to_thread(engine._assistant.keys.settle)
        await asyncio.to_thread(engine.close)
    assert loads == ["first.gguf", "last.gguf"]


async def test_the_engine_used_last_is_kept_until_another_is_wanted(
    opened: list[TargetOptions], tmp_path: Path
) -> None:
    used = engines.Engines(Store(tmp_path / "index.sqlite"), keep_last=True)
    first = used.acquire(MODELS)
    await used.release(first)
    assert used.loaded == (first,)
    assert used.acquire(MODELS) is first
    await used.release(first)
    other = used.acquire(ModelConfig("other.gguf", "t.gguf", "f16", "off"))
    assert used.loaded == (other,)
    await used.release(other)
    await used.close()
    assert used.loaded == ()


async def test_auto_and_its_target_share_an_engine_until_the_last_client_leaves(
    opened: list[TargetOptions], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path))
    used, automatic = engines.Engines(Store(tmp_path / "index.sqlite")), replace(MODELS, target=AUTO)
    engine = used.acquire(await used.named(automatic))
    await asyncio.to_thread(engine._assistant.target.settle)
    assert opened == [], "no target is installed"
    best, threads = ["t.gguf"], list[threading.Thread]()

    def resolved(models: ModelConfig) -> ModelConfig:
        threads.append(threading.current_thread())
        return replace(models, target=best[-1]) if models.target == AUTO else models

    for module in (engines, opening):
        monkeypatch.setattr(module, "resolved", resolved)
    monkeypatch.setattr(LlamaTarget, "open", lambda *_: SimpleNamespace(close=lambda: None))
    await asyncio.to_thread(engine.assistant().target.settle)  # opened again, as for the next question
    assert engine is used.acquire(await used.named(automatic)) is used.acquire(await used.named(MODELS))
    best.append("larger.gguf")
    assert engine is used.acquire(await used.named(automatic))
    for users in (3, 2, 1, 0):
        await used.release(engine)
        assert used.loaded == (engine,) * bool(users)
    assert not hasattr(engine, "_assistant"), "its models are freed"
    assert await used.named(automatic) == replace(MODELS, target="larger.gguf")
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("keep_last", [False, True])
async def test_one_target_is_in_memory_at_a_time_however_fast_settings_change(
    back: bool, keep_last: bool, opened: list[TargetOptions], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []

    def load(path: Path, _options: TargetOptions) -> Any:
        happened.append(f"open {path.stem}")
        return SimpleNamespace(close=lambda: happened.append(f"close {path.stem}"))

    monkeypatch.setattr(LlamaTarget, "open", load)
    used = engines.Engines(Store(tmp_path / "index.sqlite"), keep_last=keep_last)
    names = ("a", "b", "a" if back else "c")
    models = [ModelConfig("d.gguf", f"{name}.gguf", "f16", "off") for name in names]
    first = used.acquire(models[0])
    await asyncio.to_thread(first._assistant.target.settle)
    used.replace(first)
    second = used.acquire(models[1])
    used.replace(second)
    last = used.acquire(models[2])
    await used.release(second)
    assert happened == ["open a"], "b never loads, c waits"
    await used.release(first)
    await asyncio.to_thread(last._assistant.target.settle)
    assert (last is first, happened) == (back, ["open a"] if back else ["open a", "close a", "open c"])
    await used.release(last)
    await used.close()
    assert happened[-1] == f"close {names[2]}"


async def test_a_target_on_a_server_needs_no_memory(opened: list[TargetOptions], tmp_path: Path) -> None:
    used = engines.Engines(Store(tmp_path / "index.sqlite"))
    used.replace(before := used.acquire(MODELS, load_target=False))
    after = used.acquire(replace(MODELS, target="http://127.0.0.1:1/v1"))
    await asyncio.wait_for(asyncio.to_thread(after._assistant.target.settle), 60)
    await asyncio.gather(used.release(before), used.release(after))


async def test_a_target_is_loaded_for_those_who_need_it(opened: list[TargetOptions], tmp_path: Path) -> None:
    used = engines.Engines(Store(tmp_path / "index.sqlite"))
    agent = used.acquire(MODELS, load_target=False)
    await used.release(agent)
    assert opened == [], "nobody asked, and closing loads nothing"
    agent = used.acquire(MODELS, load_target=False)
    editor = used.acquire(MODELS)
    assert agent is editor
    await used.release(agent)
    await used.release(editor)
    assert len(opened) == 1


async def test_clients_share_the_models_in_the_same_files_however_they_name_them(
    opened: list[TargetOptions], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, folder = "hf:owner/tiny:Q4_0", tmp_path / "owner/tiny"
    folder.mkdir(parents=True)
    file, other = (write_llama(folder / f"tiny-{kind}.gguf") for kind in ("Q4_0", "Q8_0"))
    (tmp_path / "link.gguf").symlink_to(file)
    for variable in ("WINNOW_MODELS_DIR", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.chdir(folder)
    used = engines.Engines(Store(tmp_path / "index.sqlite"))
    models = ModelConfig(name, name, speculate=name)
    engine = used.acquire(models, load_target=False)
    for spelling in (str(file), file.name, f"../tiny/{file.name}", "~/link.gguf", "hf:owner/tiny:q4_0"):
        for role in ("drafter", "target", "speculate"):
            assert used.acquire(replace(models, **{role: spelling}), load_target=False) is engine, (role, spelling)
    different = [
        replace(models, target=str(other)), replace(models, target="http://127.0.0.1:1/v1"),
        replace(models, kv_type="q8_0"), replace(models, speculate="off"), replace(models, target_context=9),
        replace(models, target_place="cpu"), replace(models, cache_megabytes=0), replace(models, target="missing.gguf"),
    ]  # fmt: skip
    acquired = [used.acquire(one, load_target=False) for one in different]
    assert len({engine, *acquired}) == 1 + len(different) == len(used.loaded)
    for one in [engine] * 16 + acquired:
        await used.release(one)
