import numpy as np
import pytest

from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Cursor, Question
from winnow_engine.selection.answerability import match_features
from winnow_engine.selection.fusion import QUESTION_FEATURES, question_features
from winnow_engine.selection.scoring_input import ScoringInput
from winnow_engine.selection.unit_features import unit_features


def asked(workspace: Workspace, text: str, at: Cursor | None = None) -> ScoringInput:
    nothing = np.zeros(len(workspace.units), np.float32)
    return ScoringInput(workspace, workspace.located(Question(text, at)), {"drafter": nothing})


def names(workspace: Workspace, scores: np.ndarray) -> list[str]:
    return [workspace.units[unit][1].name for unit in np.flatnonzero(scores > 0)]


def test_a_name_leads_to_its_definition_and_its_users(workspace: Workspace) -> None:
    found = unit_features(asked(workspace, "Who calls send_order?"))
    assert names(workspace, found["names"]) == ["send_order"]
    assert names(workspace, found["users"]) == ["checkout"]


def test_the_code_at_the_cursor_leads_to_what_it_uses_but_not_to_itself(workspace: Workspace) -> None:
    found = unit_features(asked(workspace, "Explain this code.", Cursor("src/shop/basket.py", 8, 9)))
    assert names(workspace, found["cursor"]) == ["total_price", "send_order"]


def test_a_file_that_is_named_speaks_for_its_units(workspace: Workspace) -> None:
    for question in ("what is in shop/orders.py?", "orders.py"):
        assert names(workspace, unit_features(asked(workspace, question))["files"]) == ["send_order", "cancel"]
    assert not unit_features(asked(workspace, "what is in ders.py?"))["files"].any()


def test_what_leads_speaks_for_its_file_and_for_what_it_uses(workspace: Workspace) -> None:
    found = unit_features(asked(workspace, "what does `checkout` do?"))
    assert names(workspace, found["used"]) == ["total_price", "send_order"]
    assert "total_price" in names(workspace, found["file"])


def test_question_features(workspace: Workspace) -> None:
    plain = question_features(asked(workspace, "how does it work"))
    assert tuple(plain) == QUESTION_FEATURES
    assert {name for name, value in plain.items() if value} == {"one", "length"}
    assert question_features(asked(workspace, "who calls `send_order`"))["uses"] == 1
    assert question_features(asked(workspace, "who calls `send_order`"))["named"] == 1
    assert question_features(asked(workspace, "where do the docs say this"))["documentation"] == 1
    assert question_features(asked(workspace, "explain", Cursor("src/shop/basket.py", 8, 8)))["cursor"] == 1


@pytest.mark.parametrize(
    ("text", "unknown", "absent"), [("send_order", 0, 0), ("Wohin geht das?", 1, 0), ("Wo ist drop_shipment?", 1, 1)]
)
def test_words_of_another_language_and_code_that_is_not_there_are_told(
    workspace: Workspace, text: str, unknown: float, absent: float
) -> None:
    found = match_features(asked(workspace, text), {}, unit_features(asked(workspace, text)))
    assert (found["unknown"], found["absent"]) == (unknown, absent)
