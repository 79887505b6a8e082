import json

import numpy as np
import pytest

from winnow_engine.core import Question
from winnow_engine.errors import ProfileError
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.evidence import Asked, Drafted
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.gate import Gate, read_gate

GATE = Gate({"drafter": {"one": 1.0}, "names": {"one": 0.5, "named": 4.0}}, {"one": 1.5, "named": -1.0})


def asked(workspace: Workspace, text: str, best: int) -> Asked:
    scores = np.zeros(len(workspace.units), np.float32)
    scores[best] = 1
    return Asked(workspace, Question(text), "", Drafted({"drafter": scores}))


def test_weights_depend_on_the_question(workspace: Workspace) -> None:
    unnamed = fuse(asked(workspace, "what happens with money", best=1), GATE)
    named = fuse(asked(workspace, "what does `send_order` do", best=1), GATE)
    assert unnamed.total.argmax() == 1
    assert workspace.units[named.total.argmax()][1].name == "send_order"
    assert named.of(int(named.total.argmax()))["names"] == 4.5


def test_the_highest_score_is_how_likely_anything_answers(workspace: Workspace) -> None:
    assert fuse(asked(workspace, "what happens", 0), GATE).total.max() == pytest.approx(1.5)
    assert fuse(asked(workspace, "what does `send_order` do", 0), GATE).total.max() == pytest.approx(0.5)


def test_only_what_adds_to_a_score_is_shown_for_it(workspace: Workspace) -> None:
    fused = fuse(asked(workspace, "what happens", best=2), GATE)
    assert set(fused.of(2)) == {"drafter"}


def test_weights_survive_json() -> None:
    assert read_gate(json.loads(json.dumps(GATE.document()))) == GATE


@pytest.mark.parametrize("document", [{}, {"kinds": {}}, {"kinds": {"a": 1}, "clues": {}}, {"kinds": {}, "clues": "x"}])
def test_a_malformed_document_says_what_to_do(document: dict[str, object]) -> None:
    with pytest.raises(ProfileError, match="winnow calibrate"):
        read_gate(document)
