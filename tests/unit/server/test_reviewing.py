"""The commands that review a change and propose a message, with what a model says given."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import git_repositories as git
import pytest
from lsprotocol import types

from winnow_engine.core import Cancellation
from winnow_engine.errors import NothingChangedError, TargetError
from winnow_engine.index.workspace import read_workspace
from winnow_engine.question import Question
from winnow_engine.storage.store import Store
from winnow_lsp.server.features import reviewing
from winnow_lsp.server.session.editor import Folders
from winnow_lsp.server.wire.messages import AskParams


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = git.new(tmp_path / "repository")
    git.commit(top, "fix: one", {"a.py": "def one():\n    return 1\n"})
    git.write(top, {"a.py": "def one():\n    return 2\n"})
    return top


@pytest.fixture
def server(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server whose model finds a problem, and one that it invents."""
    folders, pages, asked = Folders({top: "repository"}), dict[str, str](), list[AskParams]()
    sources = git.sources_of(top)

    async def show(title: str, page: str) -> None:
        pages[title] = page

    async def answer(_server: object, params: AskParams, _conversation: str) -> Any:
        asked.append(params)
        store = Store(tmp_path / "index.sqlite")
        workspace = read_workspace(sources, store, Cancellation())
        store.close()
        text = "Fix: Return two.\na.py:1 high it is two\nb.py:1 high invented"
        if "```" in params.question:
            text = params.question.replace("return 2", "return 1")
        selection = SimpleNamespace(workspace=workspace)
        return SimpleNamespace(text=text, selection=selection, finish="stop"), Question("?"), folders

    def tell(_kind: types.MessageType, message: str) -> None:
        pages["told"] = message

    monkeypatch.setattr(reviewing, "answered_in", answer)
    editor = SimpleNamespace(folders=folders, sources=lambda _: sources, configured=AsyncMock())

    @asynccontextmanager
    async def bar(*_: object) -> AsyncIterator[Any]:
        yield SimpleNamespace(say=lambda message, _: pages.update(bar=message))

    bars, shows = SimpleNamespace(new_token=AsyncMock(return_value="token"), show=bar), SimpleNamespace(show=show)
    return SimpleNamespace(editor=editor, pages=shows, conversations={}, bars=bars, shown=pages, asked=asked, tell=tell)


def call(command: str, *arguments: Any) -> types.ExecuteCommandParams:
    return types.ExecuteCommandParams(command, list(arguments))


async def test_a_review_is_checked_and_shown(server: Any, top: Path) -> None:
    result = await reviewing._review(server, call("winnow.review"))
    found = [(one["location"].range.start.line, one["confidence"], one["rule"]) for one in result["findings"]]
    assert found == [(0, "medium", "model"), (1, "medium", "corrected")]
    assert {one["location"].uri for one in result["findings"]} == {(top / "a.py").as_uri()}
    assert result["unsupported"] == 1
    assert result["files"] == [{"path": "a.py", "what": "changed", "added": 1, "removed": 1, "units": ("one",)}]
    assert server.shown["Review"] == result["answer"]
    assert "[a.py:2]" in result["answer"]
    assert [(one.changes, one.work_done_token) for one in server.asked] == [("working", "token"), ("working", None)]
    assert server.shown["bar"] == "repeating changed code, 1 of 1"


async def test_what_was_answered_counts_once_it_is_committed(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reviewing.answered_in

    async def answer(_: object, params: AskParams, conversation: str) -> Any:
        if server.asked:
            raise NothingChangedError("nothing changed")
        return await first(server, params, conversation)

    monkeypatch.setattr(reviewing, "answered_in", answer)
    result = await reviewing._review(server, call("winnow.review"))
    assert [one["rule"] for one in result["findings"]] == ["model"]


@pytest.mark.parametrize("command", [reviewing._review, reviewing._commit_message])
@pytest.mark.parametrize(("finish", "advice"), [("length", "raise the setting maxTokens"), ("stop", "ask again")])
async def test_no_answer_is_no_review(
    server: Any, command: Any, finish: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(*_: object) -> Any:
        return SimpleNamespace(text="\n", finish=finish), Question("?"), server.editor.folders

    monkeypatch.setattr(reviewing, "answered_in", answer)
    with pytest.raises(TargetError, match=f"no answer: {advice}"):
        await command(server, call("winnow.review"))
    assert "Review" not in server.shown


async def test_a_message_has_the_repositorys_manner(server: Any, top: Path) -> None:
    argument = {"changes": "working", "repository": top.as_uri()}
    result = await reviewing._commit_message(server, call("winnow.commitMessage", argument))
    assert result["message"].splitlines()[0] == "fix: return two"
    assert "one of fix." in server.asked[0].question
    assert [folder.root for folder in server.asked[0].folders] == [top]
