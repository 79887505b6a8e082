"""Changes of the code: offered, proposed, shown, and made by the client. A server of ours stands in for a model."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from ..unit.targets.hostile import DONE, Hostile, Talk, event, start
from .capabilities import EDITORS, PLAIN, capabilities
from .client import PATIENCE_S
from .conftest import SETTINGS

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

INVALID_PARAMS, REQUEST_FAILED, REQUEST_CANCELLED = -32602, -32803, -32800
BROKEN, FIXED = "else price_cents", "else price_cents * count"
FIX = (
    "```python\ndef unit_price(price_cents: int, count: int) -> int:\n"
    '    """The price of one piece in cents; ten or more pieces are a tenth cheaper."""\n'
    "    return price_cents * 9 // 10 if count >= 10 else price_cents * count\n```"
)
PROBLEM = types.Diagnostic(types.Range(types.Position(7, 4), types.Position(7, 10)), "forgets the count")
VERSIONS_ALONE = capabilities({"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}})


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    hostile = Hostile(models=lambda talk: talk.json({"data": [{"id": "m", "max_model_len": 30_000}]}))
    hostile.chat = answering(FIX)
    server = start(hostile)
    yield hostile
    server.shutdown()
    server.server_close()


@pytest.fixture
def file(own_folder: Path) -> Path:
    return own_folder / "shop" / "pricing.py"


@pytest.fixture
def editing(connect, hostile: Hostile, own_folder: Path) -> Any:
    """Connects an editor whose target is the server above."""

    async def connected(editor: str | types.ClientCapabilities = "vscode") -> Any:
        options = {**SETTINGS, "target": hostile.url}
        able = EDITORS[editor] if isinstance(editor, str) else editor
        client = await connect(own_folder, capabilities=able, options=options)
        client.set_configuration({"winnow": options})
        return client

    return connected


def answering(text: str) -> Any:
    return lambda talk: talk.stream(
        *(event(text[n : n + 9]) for n in range(0, len(text), 9)), event(finish="stop"), DONE
    )


def asked(file: Path, change: str = "fix", line: int = 7, **more: Any) -> dict[str, Any]:
    at = {"line": line, "character": 4}
    place = {"textDocument": {"uri": file.as_uri()}, "range": {"start": at, "end": at}}
    problems = {"diagnostics": [{"message": PROBLEM.message}]} if change == "fix" else {}
    return {"change": change, **place, **problems, **more}


async def picked(client, file: Path, title: str) -> types.Command:
    """The command of the code action with a title, as an editor gets it when the user picks the action."""
    where = types.Range(types.Position(7, 4), types.Position(7, 4))
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(file.as_uri()), where, types.CodeActionContext([PROBLEM])
    )
    actions = await client.text_document_code_action_async(params)
    (action,) = [one for one in actions if one.title == title]
    action = action if action.command else await client.code_action_resolve_async(action)
    return action.command


def applied_to(text: str, edits: Any) -> str:
    """What an editor makes of a text; positions are at the start of lines here."""
    lines = text.splitlines(keepends=True)
    for edit in reversed(edits):
        lines[edit.range.start.line : edit.range.end.line] = [edit.new_text]
    return "".join(lines)


async def test_three_changes_are_offered_to_editors_that_take_edits(editing, file: Path) -> None:
    client = await editing()
    context = types.CodeActionContext([PROBLEM])
    params = types.CodeActionParams(types.TextDocumentIdentifier(file.as_uri()), PROBLEM.range, context)
    offered = {one.title: one.kind for one in await client.text_document_code_action_async(params)}
    assert offered["Fix this problem: forgets the count"] == "quickfix.winnow"
    assert offered["Add a test for this"] == offered["Document this"] == "refactor.rewrite.winnow"
    context.only = ["refactor"]
    assert len(await client.text_document_code_action_async(params)) == 2
    plain = await editing(PLAIN)
    assert len(await plain.text_document_code_action_async(params)) == 0
    context.only = None
    assert len(await plain.text_document_code_action_async(params)) == 4


@pytest.mark.parametrize("editor", ["vscode", "neovim", "eglot"])
async def test_a_fix_is_shown_and_made(editing, hostile: Hostile, file: Path, editor: str) -> None:
    client = await editing(editor)
    text = file.read_text()
    client.open(file, text)
    command = await picked(client, file, "Fix this problem: forgets the count")
    assert command.command == "winnow.edit"
    result = await client.run(command.command, *command.arguments)
    assert (result["applied"], result["title"]) == (True, "Fix `unit_price`")
    assert f"+    return price_cents * 9 // 10 if count >= 10 {FIXED}" in result["diff"]
    ((change,),) = [edit.document_changes for edit in client.applied]
    assert (change.text_document.uri, change.text_document.version) == (file.as_uri(), 1)
    assert applied_to(text, change.edits) == text.replace(BROKEN, FIXED)
    assert file.read_text() == text
    content = hostile.chats[0].document["messages"][-1]["content"]
    assert "forgets the count" in content
    annotations = client.applied[0].change_annotations
    if editor == "vscode":
        (annotation,) = annotations.values()
        assert (annotation.label, annotation.needs_confirmation, client.asked) == ("Fix `unit_price`", True, [])
        assert {edit.annotation_id for edit in change.edits} == set(annotations)
    else:
        (question,) = client.asked
        assert question.message.startswith("Fix `unit_price` in shop/pricing.py?\n@@")
        assert FIXED in question.message
        assert [action.title for action in question.actions] == ["Apply", "Discard"]
        assert annotations is None


@pytest.mark.parametrize("choice", ["Discard", None])
async def test_a_user_who_declines_keeps_the_code(editing, file: Path, choice: str | None) -> None:
    client = await editing("neovim")
    client.choice = choice
    assert (await client.run("winnow.edit", asked(file)))["applied"] is False
    assert client.applied == []


async def test_who_discards_the_preview_is_told_nothing(editing, file: Path) -> None:
    client = await editing()
    client.applying = types.ApplyWorkspaceEditResult(False)
    assert (await client.run("winnow.edit", asked(file)))["applied"] is False


async def test_an_editor_that_fails_says_why(editing, file: Path) -> None:
    client = await editing()
    client.applying = types.ApplyWorkspaceEditResult(False, failure_reason="version mismatch")
    error = await client.refusal(client.run("winnow.edit", asked(file)))
    assert (error.code, error.data) == (REQUEST_FAILED, {"kind": "EditError"})
    assert "version mismatch" in error.message


async def test_an_editor_that_cannot_ask_changes_nothing(editing, file: Path) -> None:
    client = await editing("eglot")
    client.refuse("question")
    assert (await client.refusal(client.run("winnow.edit", asked(file)))).data == {"kind": "EditError"}
    assert client.applied == []


async def test_the_request_gives_the_edit_to_clients_that_make_it_themselves(editing, file: Path) -> None:
    client = await editing(PLAIN)
    result = await client.start("winnow/edit", asked(file))[1]
    ((uri, edits),) = result["edit"]["changes"].items()
    assert (uri, len(edits), result["checked"]) == (file.as_uri(), 1, True)
    error = await client.refusal(client.run("winnow.edit", asked(file)))
    assert "winnow/edit" in error.message


async def test_unsaved_text_counts(editing, hostile: Hostile, file: Path) -> None:
    client = await editing(VERSIONS_ALONE)
    text = "UNSAVED = 1\n\n\n" + file.read_text().replace("count >= 10", "count >= 11")
    uri = client.open(file, file.read_text())
    client.replace(uri, text)
    hostile.chat = answering(FIX.replace(">= 10", ">= 11"))
    assert (await client.run("winnow.edit", asked(file, line=10)))["applied"]
    (change,) = client.applied[0].document_changes
    assert change.text_document.version == 2
    assert applied_to(text, change.edits) == text.replace(BROKEN, FIXED)


async def test_crlf_and_tabs_stay(editing, file: Path) -> None:
    client = await editing(VERSIONS_ALONE)
    text = file.read_text().replace("    ", "\t").replace("\n", "\r\n")
    client.open(file, text)
    await client.run("winnow.edit", asked(file))
    (change,) = client.applied[0].document_changes
    (edit,) = change.edits
    assert edit.new_text == f"\treturn price_cents * 9 // 10 if count >= 10 {FIXED}\r\n"


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
        (FIX.replace("int)", "int"), "UnsoundEditError"),
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


async def test_a_test_goes_to_a_new_file(editing, hostile: Hostile, file: Path, own_folder: Path) -> None:
    code = "from shop.pricing import unit_price\n\n\ndef test_one():\n    assert unit_price(5, 1) == 5\n"
    hostile.chat = answering(f"```python\n{code}```")
    client = await editing()
    command = await picked(client, file, "Add a test for this")
    assert (await client.run(command.command, *command.arguments))["applied"]
    made, change = client.applied[0].document_changes
    new = (own_folder / "tests" / "test_pricing.py").as_uri()
    assert (made.kind, made.uri, made.options.overwrite) == ("create", new, False)
    assert (change.text_document.uri, change.text_document.version) == (new, None)
    assert [edit.new_text for edit in change.edits] == [code]
    assert made.annotation_id == change.edits[0].annotation_id
    eglot = await editing("eglot")
    error = await eglot.refusal(eglot.run("winnow.edit", asked(file, "test")))
    assert (error.data, "make an empty tests/test_pricing.py" in error.message) == (
        {"kind": "NotApplicableError"},
        True,
    )


async def test_a_new_file_is_not_made_behind_a_link(
    editing, hostile: Hostile, file: Path, own_folder: Path, tmp_path: Path
) -> None:
    (own_folder / "tests").symlink_to(tmp_path)
    hostile.chat = answering("```python\ndef test_one():\n    assert unit_price(5, 1) == 5\n```")
    client = await editing()
    error = await client.refusal(client.run("winnow.edit", asked(file, "test")))
    assert (error.data, "by a link" in error.message) == ({"kind": "NotApplicableError"}, True)
    assert client.applied == []


async def test_a_test_goes_to_a_file_that_is_there(editing, hostile: Hostile, file: Path, own_folder: Path) -> None:
    tests = own_folder / "tests" / "test_shop.py"
    tests.parent.mkdir()
    tests.write_text("from shop.pricing import unit_price\n\n\ndef test_one():\n    assert unit_price(5, 1) == 5\n")
    code = "def test_ten():\n    assert unit_price(10, 10) == 9\n"
    hostile.chat = answering(f"```python\n{code}```")
    client = await editing("eglot")
    assert (await client.run("winnow.edit", asked(file, "test")))["applied"]
    (change,) = client.applied[0].document_changes
    assert change.text_document.uri == tests.as_uri()
    assert applied_to(tests.read_text(), change.edits) == f"{tests.read_text()}\n\n{code}"


async def test_documentation_is_inserted_and_what_has_some_keeps_it(editing, hostile: Hostile, file: Path) -> None:
    hostile.chat = answering("The rate of a day.")
    client = await editing()
    text = f"{file.read_text()}\n\ndef rate(day):\n    return day * 2\n"
    client.open(file, text)
    await client.run("winnow.edit", asked(file, "document", line=text.split("\n").index("def rate(day):")))
    (change,) = client.applied[0].document_changes
    assert applied_to(text, change.edits) == text.replace("(day):\n", '(day):\n    """The rate of a day."""\n')
    error = await client.refusal(client.run("winnow.edit", asked(file, "document")))
    assert (error.data, "is documented" in error.message) == ({"kind": "NotApplicableError"}, True)


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


async def test_a_change_waits_its_turn_and_shows_progress(editing, hostile: Hostile, file: Path) -> None:
    client = await editing()
    await client.run("winnow.edit", asked(file), workDoneToken="work")
    kinds = [value["kind"] for value in client.values["work"]]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert "report" in kinds


async def test_a_file_that_does_not_count_says_so(editing, file: Path, own_folder: Path) -> None:
    shutil.copy(file, own_folder / "ignored.py")
    (own_folder / ".winnowignore").write_text("ignored.py\n")
    client = await editing()
    error = await client.refusal(client.run("winnow.edit", asked(own_folder / "ignored.py")))
    assert (error.code, error.data) == (INVALID_PARAMS, {"kind": "PositionError"})


BAD: list[dict[str, Any]] = [
    {},
    {"change": "fix"},
    {"change": 5, "position": {"line": 0, "character": 0}, "textDocument": {"uri": "file:///etc/passwd"}},
    {"change": "fix", "position": {"line": 0, "character": 0}, "textDocument": {"uri": "file:///etc/passwd"}},
    {"change": "test", "position": {"line": 0, "character": 0}, "textDocument": {"uri": "file:///etc/passwd"}},
    {"change": "test", "position": {"line": -1, "character": 0}, "textDocument": {"uri": "file:///etc/passwd"}},
    {"change": "test", "position": {"line": 0, "character": 0}},
]


@pytest.mark.parametrize("params", [None, 5, [], *BAD], ids=str)
async def test_requests_that_make_no_sense_are_refused(on_tcp, params: Any) -> None:
    assert (await on_tcp.refusal(on_tcp.start("winnow/edit", params)[1])).code == INVALID_PARAMS


async def test_a_line_that_is_not_there_is_refused(editing, file: Path) -> None:
    client = await editing()
    error = await client.refusal(client.run("winnow.edit", asked(file, "document", line=999)))
    assert (error.code, error.data) == (INVALID_PARAMS, {"kind": "PositionError"})
