"""Changes of the code that are not made: what keeps them from it, and what the client is told."""

import asyncio
import shutil
import threading
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from lsprotocol import types

from ...unit.targets.hostile import Hostile, Talk, event
from ..capabilities import EDITORS
from ..client import PATIENCE_S
from ..conftest import SETTINGS
from .asking import BROKEN, FIX, FIXED, PROBLEM, REQUEST_CANCELLED, REQUEST_FAILED, answering, asked, picked

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]


async def test_an_editor_that_cannot_ask_changes_nothing(editing, file: Path) -> None:
    client = await editing("eglot")
    client.refuse("question")
    assert (await client.refusal(client.run("winnow.edit", asked(file)))).data == {"kind": "EditError"}
    assert client.applied == []


async def test_text_that_changed_during_the_answer_is_left_alone(editing, hostile: Hostile, file: Path) -> None:
    client = await editing()
    text = file.read_text()
    uri = client.open(file, text)
    waiting, go_on = threading.Event(), threading.Event()

    def slow(talk: Talk) -> None:
        waiting.set()
        go_on.wait(60)
        answering(FIX)(talk)

    hostile.chat = slow
    task = asyncio.ensure_future(client.run("winnow.edit", asked(file)))
    await asyncio.to_thread(waiting.wait, 60)
    client.replace(uri, f"{text}\nMORE = 1\n")
    go_on.set()
    error = await client.refusal(task)
    assert (error.code, error.data) == (REQUEST_FAILED, {"kind": "TextChangedError"})
    assert "ask again" in error.message
    assert client.applied == []


async def test_text_that_changed_on_disk_is_left_alone(editing, hostile: Hostile, file: Path) -> None:
    client = await editing()

    def changing(talk: Talk) -> None:
        file.write_text(file.read_text() + "\nMORE = 1\n")
        answering(FIX)(talk)

    hostile.chat = changing
    error = await client.refusal(client.run("winnow.edit", asked(file)))
    assert error.data == {"kind": "TextChangedError"}


async def test_text_that_changed_since_the_offer_is_not_even_read(editing, hostile: Hostile, file: Path) -> None:
    client = await editing()
    uri = client.open(file, file.read_text())
    command = await picked(client, file, "Fix this problem: forgets the count")
    client.replace(uri, f"\n{file.read_text()}")
    error = await client.refusal(client.run(command.command, *command.arguments))
    assert error.data == {"kind": "TextChangedError"}
    assert hostile.chats == []


async def test_text_that_changed_while_the_user_looked_is_left_alone(editing, file: Path) -> None:
    client = await editing("neovim")
    text = file.read_text()
    uri = client.open(file, text)

    def looked(_ls: Any, params: types.ShowMessageRequestParams) -> types.MessageActionItem:
        client.replace(uri, f"{text}\nMORE = 1\n")
        return types.MessageActionItem("Apply")

    client.protocol.fm._features[types.WINDOW_SHOW_MESSAGE_REQUEST] = lambda params: looked(client, params)
    error = await client.refusal(client.run("winnow.edit", asked(file)))
    assert error.data == {"kind": "TextChangedError"}
    assert client.applied == []


async def test_read_only_files_are_not_changed(editing, hostile: Hostile, file: Path) -> None:
    client = await editing()
    file.chmod(0o444)
    for change in ("fix", "document"):
        error = await client.refusal(client.run("winnow.edit", asked(file, change)))
        assert (error.code, error.data) == (REQUEST_FAILED, {"kind": "ReadOnlyError"})
    assert hostile.chats == []


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("I cannot.", "NoCodeError"),
        ("```\nprint(1)\n```", "NoCodeError"),
        (FIX.replace(FIXED, BROKEN), "UnchangedError"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_refused(
    editing, hostile: Hostile, file: Path, answer: str, kind: str
) -> None:
    client = await editing()
    hostile.chat = answering(answer)
    error = await client.refusal(client.run("winnow.edit", asked(file)))
    assert (error.code, error.data) == (REQUEST_FAILED, {"kind": kind})
    assert client.applied == []


async def test_a_change_that_would_not_parse_is_shown_and_not_made(editing, hostile: Hostile, file: Path) -> None:
    hostile.chat = answering(FIX.replace("int)", "int"))
    client = await editing("neovim")
    result = await client.run("winnow.edit", asked(file))
    assert (result["applied"], result["checked"], client.applied, client.asked) == (False, False, [], [])
    assert "would no longer parse" in result["rejected"]
    assert "would no longer parse" in Path(unquote(urlsplit(client.shown_documents[-1].uri).path)).read_text()
    proposed = await client.start("winnow/edit", asked(file))[1]
    assert proposed["rejected"] == result["rejected"]
    assert proposed["edit"]


async def test_a_file_that_became_a_link_out_of_the_workspace_is_not_changed(
    editing, hostile: Hostile, file: Path, tmp_path: Path
) -> None:
    def linking(talk: Talk) -> None:
        shutil.move(file.parent, tmp_path / "elsewhere")
        file.parent.symlink_to(tmp_path / "elsewhere")
        answering(FIX)(talk)

    hostile.chat = linking
    client = await editing()
    error = await client.refusal(client.run("winnow.edit", asked(file)))
    assert (error.data, "by a link" in error.message) == ({"kind": "NotApplicableError"}, True)
    assert client.applied == []


@pytest.mark.parametrize("how", [types.CANCEL_REQUEST, types.WINDOW_WORK_DONE_PROGRESS_CANCEL])
async def test_cancelling_stops_the_target_and_changes_nothing(editing, hostile: Hostile, file: Path, how: str) -> None:
    client, begun, left = await editing(), threading.Event(), threading.Event()

    def endless(talk: Talk) -> None:
        talk.stream(event("```python\n"))
        begun.set()
        talk.until_left()
        left.set()

    hostile.chat = endless
    params = {"command": "winnow.edit", "arguments": [asked(file)], "workDoneToken": "work"}
    identity, task = client.start(types.WORKSPACE_EXECUTE_COMMAND, params)
    assert await asyncio.to_thread(begun.wait, PATIENCE_S)
    client.cancel(how, identity, "work")
    assert (await client.refusal(task)).code == REQUEST_CANCELLED
    assert await asyncio.to_thread(left.wait, PATIENCE_S)
    assert client.applied == []
    assert client.values["work"][-1]["kind"] == "end"


async def test_a_small_target_is_neither_offered_nor_asked(connect, own_folder: Path, file: Path) -> None:
    client = await connect(own_folder, capabilities=EDITORS["vscode"], options=SETTINGS)
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(file.as_uri()), PROBLEM.range, types.CodeActionContext([PROBLEM])
    )
    titles = [one.title for one in await client.text_document_code_action_async(params)]
    assert "Explain this problem: forgets the count" in titles
    assert not [title for title in titles if title.startswith(("Fix", "Document"))]
    error = await client.refusal(client.run("winnow.edit", asked(file)))
    assert (error.code, error.data) == (REQUEST_FAILED, {"kind": "NotApplicableError"})
    assert "0.1 billion parameters" in error.message
