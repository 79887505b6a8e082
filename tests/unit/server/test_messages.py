"""Winnow's own parameters, from JSON."""

from typing import Any

import pytest
from lsprotocol import types

from winnow_engine.editing.request import EditKind
from winnow_engine.question import ABOUT_CHANGE, Turn
from winnow_lsp.server.wire.messages import AskParams, EditParams

AT = {"line": 3, "character": 4}
RANGE = {"start": {"line": 1, "character": 0}, "end": AT}
DOCUMENT = {"uri": "file:///w/a.py"}

BAD_ASK: list[tuple[str, Any]] = [
    ("question", 5),
    ("question", ["why"]),
    ("changes", ["staged"]),
    ("textDocument", "file:///w/a.py"),
    ("textDocument", {}),
    ("textDocument", {"uri": 5}),
    ("position", 5),
    ("position", {}),
    ("position", {"line": "3", "character": 4}),
    ("position", {"line": -1, "character": 0}),
    ("position", {"line": 0, "character": True}),
    ("range", []),
    ("range", {"start": AT}),
    ("range", {"start": AT, "end": {"line": 3, "character": 3}}),
    ("conversation", 5),
    ("earlier", {}),
    ("earlier", ["before"]),
    ("earlier", [{"question": "why?"}]),
    ("earlier", [{"question": "why?", "answer": 5}]),
    ("supersedes", "yes"),
    ("supersedes", 1),
    ("budget", 0),
    ("budget", 1.5),
    ("budget", True),
    ("budget", "half"),
    ("budget", "150%"),
    ("budget", {"tokens": 0}),
    ("partialResultToken", 1.5),
    ("partialResultToken", True),
    ("workDoneToken", {}),
    ("about", "everything"),
    ("about", 5),
    ("diagnostics", {}),
    ("diagnostics", ["unused"]),
    ("diagnostics", [{"message": 5}]),
]


def test_every_field_of_a_question_arrives() -> None:
    asked = AskParams.read(
        {
            "question": "why?",
            "diagnostics": [{"message": "unused", "severity": 2}, {"message": "odd"}],
            "textDocument": DOCUMENT,
            "range": RANGE,
            "conversation": "c1",
            "earlier": [{"question": "who?", "answer": "you", "askedAt": 5}],
            "supersedes": True,
            "budget": "50%",
            "partialResultToken": 0,
            "workDoneToken": "w",
            "later": "versions may send more",
        }
    )
    assert asked == AskParams(
        question="why?",
        problems=("unused", "odd"),
        text_document=types.TextDocumentIdentifier("file:///w/a.py"),
        range=types.Range(types.Position(1, 0), types.Position(3, 4)),
        conversation="c1",
        earlier=(Turn("who?", "you"),),
        supersedes=True,
        budget="50%",
        partial_result_token=0,
        work_done_token="w",
    )


def test_null_is_as_good_as_nothing() -> None:
    names = (
        "textDocument",
        "position",
        "range",
        "conversation",
        "earlier",
        "supersedes",
        "budget",
        "about",
        "diagnostics",
        "workDoneToken",
    )
    assert AskParams.read({"question": "why?", **dict.fromkeys(names)}) == AskParams("why?")


@pytest.mark.parametrize(("name", "value"), BAD_ASK)
def test_a_bad_field_of_a_question_is_named(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^({name}|message|uri|line|character|start|end)\b"):
        AskParams.read({"question": "why?", name: value})


@pytest.mark.parametrize("value", [None, [], "why?", 5, True])
def test_parameters_that_are_no_object_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="must be an object"):
        AskParams.read(value)


@pytest.mark.parametrize(
    ("given", "question", "changes"),
    [
        ({"question": "Why?", "changes": "main...HEAD"}, "Why?", "main...HEAD"),
        ({"changes": "staged"}, ABOUT_CHANGE, "staged"),
        ({"question": "@branch Why?"}, "Why?", "branch"),
        ({"question": "@changes"}, ABOUT_CHANGE, "working"),
        ({"question": "@changes Why?", "changes": "staged"}, "@changes Why?", "staged"),
    ],
)
def test_a_question_about_changes(given: dict[str, Any], question: str, changes: str) -> None:
    params = AskParams.read(given)
    assert (params.question, params.changes) == (question, changes)


CHANGE = {"change": "fix", "textDocument": DOCUMENT, "range": RANGE, "diagnostics": [{"message": "unused"}]}


def test_every_field_of_a_change_arrives() -> None:
    asked = EditParams.read({**CHANGE, "digest": "d", "attempt": 2, "workDoneToken": 3, "later": "one"})
    place = types.Range(types.Position(1, 0), types.Position(3, 4))
    document = types.TextDocumentIdentifier("file:///w/a.py")
    assert asked == EditParams(EditKind.FIX, document, place, ("unused",), "d", 2, 3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("change", None),
        ("change", "rewrite"),
        ("change", 5),
        ("textDocument", None),
        ("textDocument", {"uri": 5}),
        ("range", None),
        ("range", {"start": AT}),
        ("diagnostics", ["unused"]),
        ("digest", 5),
        ("attempt", -1),
        ("attempt", 2**40),
        ("workDoneToken", 1.5),
    ],
)
def test_a_change_that_makes_no_sense_names_the_field(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=field):
        EditParams.read({**CHANGE, field: value})
