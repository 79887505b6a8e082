"""Changes of the code: offered, proposed, shown, and made by the client."""

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from ...unit.targets.hostile import Hostile
from ..capabilities import PLAIN, capabilities
from .asking import BROKEN, FIX, FIXED, PROBLEM, REQUEST_FAILED, answering, asked, picked

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

VERSIONS_ALONE = capabilities({"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}})


def applied_to(text: str, edits: Any) -> str:
    """What an editor makes of a text; positions are at the start of lines here."""
    lines = text.splitlines(keepends=True)
    for edit in reversed(edits):
        lines[edit.range.start.line : edit.range.end.line] = [edit.new_text]
    return "".join(lines)


async def test_two_changes_are_offered_to_editors_that_take_edits(editing, file: Path) -> None:
    client = await editing()
    context = types.CodeActionContext([PROBLEM])
    params = types.CodeActionParams(types.TextDocumentIdentifier(file.as_uri()), PROBLEM.range, context)
    offered = {one.title: one.kind for one in await client.text_document_code_action_async(params)}
    assert offered["Fix this problem: forgets the count"] == "quickfix.winnow"
    assert offered["Document this"] == "refactor.rewrite.winnow"
    context.only = ["refactor"]
    assert len(await client.text_document_code_action_async(params)) == 1
    plain = await editing(PLAIN)
    assert len(await plain.text_document_code_action_async(params)) == 0
    context.only = None
    assert len(await plain.text_document_code_action_async(params)) == 4


async def test_a_script_without_a_suffix_can_be_documented(editing, file: Path) -> None:
    client, script = await editing(), file.with_name("tool")
    script.write_text("#!/bin/sh\n\nadd() {\n  echo 1\n}\n")
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(script.as_uri()), PROBLEM.range, types.CodeActionContext([])
    )
    assert "Document this" in {one.title for one in await client.text_document_code_action_async(params)}


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
    (question,) = client.asked
    assert question.message.startswith("Fix `unit_price` in shop/pricing.py?\n@@")
    assert FIXED in question.message
    assert [action.title for action in question.actions] == ["Apply", "Discard"]


@pytest.mark.parametrize("choice", ["Discard", None])
async def test_a_user_who_declines_keeps_the_code(editing, file: Path, choice: str | None) -> None:
    client = await editing("neovim")
    client.choice = choice
    assert (await client.run("winnow.edit", asked(file)))["applied"] is False
    assert client.applied == []


async def test_an_editor_that_fails_says_why(editing, file: Path) -> None:
    client = await editing()
    client.applying = types.ApplyWorkspaceEditResult(False, failure_reason="version mismatch")
    error = await client.refusal(client.run("winnow.edit", asked(file)))
    assert (error.code, error.data) == (REQUEST_FAILED, {"kind": "EditError"})
    assert "version mismatch" in error.message


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


async def test_a_client_may_encode_paths_in_its_own_way(editing, hostile: Hostile, file: Path) -> None:
    client = await editing(VERSIONS_ALONE)
    file = file.rename(file.with_name("+page@(app).py"))
    uri = f"{file.parent.as_uri()}/{file.name}"
    assert uri != file.as_uri()
    text = f"{file.read_text()}\n# not saved\n"
    document = types.TextDocumentItem(uri, "python", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    assert (await client.run("winnow.edit", {**asked(file), "textDocument": {"uri": uri}}))["applied"]
    assert (await client.run("winnow.edit", asked(file)))["applied"]
    of_own, _ = (edit.document_changes[0] for edit in client.applied)
    assert of_own.text_document.uri == uri
    assert applied_to(text, of_own.edits) == text.replace(BROKEN, FIXED)


async def test_a_byte_order_mark_is_left_to_the_editor(editing, file: Path) -> None:
    text = file.read_text()
    file.write_text(text, "utf-8-sig")
    client = await editing()
    await client.run("winnow.edit", asked(file))
    (change,) = client.applied[0].document_changes
    assert applied_to(text, change.edits) == text.replace(BROKEN, FIXED)


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


async def test_a_change_waits_its_turn_and_shows_progress(editing, hostile: Hostile, file: Path) -> None:
    client = await editing()
    await client.run("winnow.edit", asked(file), workDoneToken="work")
    kinds = [value["kind"] for value in client.values["work"]]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert "report" in kinds
