"""Questions stand in the queue in the order in which they came, and say what they wait for."""

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from winnow_engine.core import Cancellation
from winnow_engine.question import Cursor, Question, Turn
from winnow_lsp.server.features import asking
from winnow_lsp.server.render.progress_bars import ProgressBars
from winnow_lsp.server.session.editor import EditorState, Questions
from winnow_lsp.server.wire.messages import AskParams

PATIENCE_S = 120
DOCUMENT = {"textDocument": {"uri": "file:///a.py"}}


class Engine:
    """Engine and assistant in one: notes each question when it comes, and answers none."""

    def __init__(self) -> None:
        self.came, self.queue = list[str](), self

    def assistant(self) -> "Engine":
        return self

    def ask(self, _sources: object, question: Question, *more: Any) -> None:
        self.came.append(question.text)
        for on_text in more[2:3]:
            on_text("So")

    select = ask

    async def question(self, prepare: Any, *_: object, **__: object) -> None:
        prepare()(Cancellation())
        await asyncio.sleep(0)  # what was said arrives
        raise asyncio.CancelledError


@pytest.fixture
async def server() -> Any:
    editor = EditorState(list)
    editor.configured.set()
    editor.folders = SimpleNamespace(all="a", cursor=lambda _, at: Cursor("a.py", at.start.line + 1, at.end.line + 1))
    editor.current_folders, editor.sources = lambda: editor.folders, lambda _folders: None
    return SimpleNamespace(
        editor=editor,
        engine=(engine := Engine()),
        acquire=lambda: asyncio.sleep(0, engine),
        questions=Questions(),
        bars=ProgressBars(SimpleNamespace(work_done_progress=None), lambda: None),
        indexer=SimpleNamespace(stale=()),
        protocol=SimpleNamespace(notify=lambda *_: None),
        conversations={},
    )


async def test_a_slow_one_is_not_overtaken(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up, slow = asyncio.Event(), asyncio.Event()

    async def symbol_at(_server: object, _uri: str, at: Any) -> str:
        if at.start.line == 0:
            looked_up.set()
            await slow.wait()
        return f"symbol_{at.start.line}"

    monkeypatch.setattr(asking, "symbol_at", symbol_at)
    questions = [
        {"about": "usage", "position": {"line": 0, "character": 0}, **DOCUMENT},
        {"about": "usage", "position": {"line": 1, "character": 0}, **DOCUMENT},
        {"question": "And why?"},
    ]
    tasks = [asyncio.create_task(asking.answer(server, AskParams.read(one))) for one in questions]
    await asyncio.wait_for(looked_up.wait(), PATIENCE_S)
    for _ in range(20):
        await asyncio.sleep(0)
    slow.set()
    await asyncio.wait_for(asyncio.wait(tasks), PATIENCE_S)
    assert [text.split("`")[1] if "`" in text else text for text in server.engine.came] == [
        "symbol_0", "symbol_1", "And why?"
    ]  # fmt: skip


async def test_one_that_is_cancelled_lets_the_next_one_pass(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = asyncio.Event()

    async def symbol_at(*_: object) -> str:
        looked_up.set()
        return await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(asking, "symbol_at", symbol_at)
    params = {"about": "usage", "position": {"line": 0, "character": 0}, **DOCUMENT}
    first = asyncio.create_task(asking.answer(server, AskParams.read(params)))
    await asyncio.wait_for(looked_up.wait(), PATIENCE_S)
    second = asyncio.create_task(asking.select(server, AskParams.read({"question": "And why?"})))
    first.cancel()
    await asyncio.wait_for(asyncio.wait([first, second]), PATIENCE_S)
    assert server.engine.came == ["And why?"]


async def test_a_cancelled_answer_is_a_turn_as_far_as_it_came(server: Any) -> None:
    with pytest.raises(asyncio.CancelledError):
        await asking.answer(server, AskParams.read({"question": "Why?", "conversation": "c"}))
    assert server.conversations == {"c": [Turn("Why?", "So")]}


async def test_one_whose_turn_has_come_says_what_it_waits_for(server: Any) -> None:
    for read, state, said in (
        (None, "loading", "reading the workspace"), ("read", "loading", "loading models"),
        ("read", "ready", "searching"),
    ):  # fmt: skip
        engine, bar = Mock(drafter=Mock(state=state), latest=Mock(return_value=read)), Mock()
        asking.Queued(server, engine, server.editor.folders, bar)._moved(0)
        bar.say.assert_called_once_with(said)
