"""`textDocument/codeAction`."""

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

PLACE = types.Range(types.Position(11, 4), types.Position(11, 4))
PROBLEM = types.Diagnostic(
    types.Range(types.Position(6, 0), types.Position(6, 10)), "`unit_price` is not accessed\nin this file"
)


async def offered(client, file: Path, *problems: types.Diagnostic, only: list[str] | None = None) -> Any:
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(file.as_uri()), PLACE, types.CodeActionContext(problems, only)
    )
    return await client.text_document_code_action_async(params)


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "shop" / "pricing.py"


async def test_three_things_are_offered_about_the_code_at_the_cursor(client, file: Path) -> None:
    actions = await offered(client, file)
    assert [action.title for action in actions] == ["Explain", "How is this used?", "What would break if this changed?"]
    assert {action.kind for action in actions} == {"winnow.explain"}


async def test_nothing_is_offered_about_an_empty_file(client, folder: Path) -> None:
    empty = folder / "shop" / "empty.py"
    assert await offered(client, empty) == []
    uri = client.open(empty, "")
    assert await offered(client, empty) == []
    client.shut(uri)


async def test_in_a_repository_the_history_can_be_asked_for(client, file: Path) -> None:
    git = file.parents[1] / ".git"
    git.mkdir()
    try:
        last = (await offered(client, file))[-1]
        assert last.title == "Why is this so?"
        assert last.command.arguments[0]["about"] == "why"
    finally:
        git.rmdir()


async def test_each_problem_at_the_cursor_can_be_explained(client, file: Path) -> None:
    long = types.Diagnostic(PLACE, "x" * 500)
    first, second, *_ = await offered(client, file, PROBLEM, long)
    assert first.title == "Explain this problem: `unit_price` is not accessed"
    assert (first.kind, first.diagnostics) == ("quickfix.winnow", (PROBLEM,))
    assert len(second.title) <= 60


async def test_a_problem_is_explained_where_it_is_in_its_own_words(client, file: Path) -> None:
    action, *_ = await offered(client, file, PROBLEM)
    (argument,) = action.command.arguments
    assert argument["diagnostics"] == [{"message": PROBLEM.message}]
    assert argument["range"]["start"] == {"line": 6, "character": 0}


@pytest.mark.parametrize(
    ("only", "count"),
    [
        (["winnow"], 3),
        (["winnow.explain"], 3),
        (["winnow.exp"], 0),
        (["quickfix"], 1),
        (["quickfix.winnow"], 1),
        (["refactor"], 0),
        (["refactor", "quickfix", "winnow"], 4),
        ([""], 4),
        ([], 4),
        (None, 4),
    ],
    ids=str,
)
async def test_only_the_kinds_asked_for_are_offered(client, file: Path, only: list[str] | None, count: int) -> None:
    assert len(await offered(client, file, PROBLEM, only=only)) == count
