from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winnow_engine.errors import ProfileError
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import FusionWeights, read_fusion_weights
from winnow_engine.selection.scoring_input import ScoringInput
from winnow_engine.selection.unit_features import zscore

WorkspaceOf = Callable[[dict[str, str], Path], Workspace]
WEIGHTS = FusionWeights({"drafter": {"one": 1.0}, "names": {"one": 0.5, "named": 4.0}}, {"one": 1.5, "named": -1.0})


def asked(workspace: Workspace, text: str, best: int, *subquestions: ScoringInput) -> ScoringInput:
    scores = np.zeros(len(workspace.units), np.float32)
    scores[best] = 1
    return ScoringInput(workspace, Question(text), {"drafter": scores}, subquestions)


def drafter_alone(weight: float, log_odds: float) -> FusionWeights:
    return FusionWeights({"drafter": {"one": weight}}, {"one": log_odds})


def test_weights_depend_on_the_question(workspace: Workspace) -> None:
    unnamed = fuse(asked(workspace, "what happens with money", best=1), WEIGHTS)
    named = fuse(asked(workspace, "what does `send_order` do", best=1), WEIGHTS)
    assert unnamed.total.argmax() == 1
    assert workspace.units[named.total.argmax()][1].name == "send_order"
    assert named.contributions_to(int(named.total.argmax()))["names"] == 4.5


def test_the_highest_score_is_how_likely_anything_answers(workspace: Workspace) -> None:
    assert fuse(asked(workspace, "what happens", 0), WEIGHTS).total.max() == pytest.approx(1.5)
    assert fuse(asked(workspace, "what does `send_order` do", 0), WEIGHTS).total.max() == pytest.approx(0.5)
    one = asked(workspace, "what happens", 0)
    assert fuse(asked(workspace, "what does `send_order` do", 0, one), WEIGHTS).total.max() == pytest.approx(1.5)


def chances(total: np.ndarray) -> np.ndarray:
    return np.exp(total) / np.exp(total).sum()


def test_words_find_what_nothing_else_finds(workspace: Workspace) -> None:
    question = asked(workspace, "what becomes of the tax", best=0)
    (found,) = np.flatnonzero(question.matches.words)
    softmax = np.exp(2 * question.matches.words)
    share = (softmax / softmax.sum())[found]
    fused = {odds: fuse(question, drafter_alone(10.0, odds)) for odds in (-8.0, 0.0, 8.0)}
    assert share > 0.8
    has = {odds: chances(one.total)[found] for odds, one in fused.items()}
    assert has == pytest.approx({-8.0: 0.2 * share, 0.0: 0.1 * share, 8.0: 0.0}, abs=1e-3)
    assert all(one.total.argmax() == 0 and one.total.max() == pytest.approx(odds) for odds, one in fused.items())
    assert fused[0].contributions_to(int(found))["words"] > 5
    assert set(fused[8.0].contributions_to(0)) == {"drafter"}
    several = asked(workspace, "what becomes of the tax", 0, *[asked(workspace, "why is it", 0)] * 2)
    assert chances(fuse(several, drafter_alone(10.0, 0.0)).total)[found] == pytest.approx(0.05 * share, abs=1e-3)


def test_words_find_code_before_tests_and_documents(tmp_path: Path, workspace_of: WorkspaceOf) -> None:
    code = "def levy():\n    return 'taxes of the state, taxes of the town', 'taxes'\n"
    files = {"app.py": code.replace(", 'taxes'", ""), "tests/test_app.py": code, "README.md": f"# Levy\n\n{code}"}
    workspace = workspace_of({**files, "other.py": "def other():\n    return 1\n"}, tmp_path)
    weights = FusionWeights({"prose": {"one": -2.0}, "tests": {"one": -2.0}}, {"one": 0.0})
    words = fuse(ScoringInput(workspace, Question("taxes of the state"), {}), weights).contributions["words"]
    assert workspace.units[int(words.argmax())][0].path == "app.py"


@pytest.mark.parametrize("log_odds", [-1000.0, 30.0, 1000.0])
def test_certainty_does_not_overflow(workspace: Workspace, log_odds: float) -> None:
    question = asked(workspace, "what becomes of the tax", best=0)
    vars(question)["words"] = np.linspace(51, 0.5, len(workspace.units), dtype=np.float32)
    total = fuse(question, drafter_alone(10.0, log_odds)).total
    assert np.isfinite(total).all()
    assert total.max() == pytest.approx(log_odds)


@pytest.mark.parametrize("texts", [("how is it", "why is it"), ("how", "why", "when is it")])
def test_scores_of_a_question_with_subquestions_share_its_chance(workspace: Workspace, texts: tuple[str, ...]) -> None:
    subquestions = tuple(asked(workspace, text, best) for best, text in enumerate(texts))
    whole = asked(workspace, "what is it", 3, *subquestions)
    scores = [zscore(one.drafter_scores["drafter"]) for one in (whole, *subquestions)]
    shares = [chances(own) for own in scores]
    expected = np.log(shares[0] / len(texts) + sum(shares[1:]))
    found = fuse(whole, drafter_alone(1.0, 0.0))
    np.testing.assert_allclose(found.total, expected - expected.max(), atol=1e-5)
    assert found.contributions_to(0)["drafter"] == pytest.approx(scores[1][0], abs=0.01)


@pytest.mark.parametrize("document", [{}, {"kinds": {}}, {"kinds": {"a": 1}, "clues": {}}, {"kinds": {}, "clues": "x"}])
def test_a_malformed_document_says_what_to_do(document: dict[str, object]) -> None:
    with pytest.raises(ProfileError, match="winnow calibrate"):
        read_fusion_weights(document)


@pytest.mark.parametrize("weights", [({"drafter": {"later": 1.0}}, {}), ({}, {"later": 1.0})])
def test_a_profile_with_features_of_another_version_says_what_to_do(workspace: Workspace, weights: Any) -> None:
    with pytest.raises(ProfileError, match=r"weighs later, .* upgrade it, or run `winnow calibrate`"):
        fuse(asked(workspace, "what happens", best=1), FusionWeights(*weights))
