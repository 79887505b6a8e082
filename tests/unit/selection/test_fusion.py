import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from winnow_engine.errors import ProfileError
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import FusionWeights, read_fusion_weights
from winnow_engine.selection.scoring_input import ScoringInput
from winnow_engine.selection.unit_features import unit_features, zscore

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


def test_what_a_subquestion_is_sure_of_leaves_room_for_the_others(workspace: Workspace) -> None:
    sure, unsure = asked(workspace, "who is `send_order`", 0), asked(workspace, "what happens", best=1)
    (named,) = np.flatnonzero(unit_features(sure)["names"])
    fused = fuse(asked(workspace, "who is this and what happens", 2, sure, unsure, unsure), WEIGHTS)
    assert {named, 1} == set(np.argsort(-fused.total)[:2].tolist())
    assert fused.contributions_to(int(named))["names"] == 4.5
    assert "names" not in fused.contributions_to(1)


def test_anything_that_answers_a_subquestion_answers(workspace: Workspace) -> None:
    weights = FusionWeights({"drafter": {"one": 1.0}}, {"one": -4.0, "named": 6.0})
    subquestions = asked(workspace, "what does `send_order` do", 0), asked(workspace, "what happens", 1)
    assert fuse(asked(workspace, "what happens", 0, *subquestions), weights).total.max() == pytest.approx(2.0)
    assert fuse(asked(workspace, "what happens", 0, *subquestions[1:]), weights).log_odds == pytest.approx(-4.0)


def chances(total: np.ndarray) -> np.ndarray:
    return np.exp(total) / np.exp(total).sum()


def words_share(question: ScoringInput) -> np.ndarray:
    """The softmax of twice BM25, less what a unit without any word has of it."""
    found = np.exp(2 * question.matches.words)
    return (found - 1) / found.sum()


def test_words_find_what_nothing_else_finds(workspace: Workspace) -> None:
    question = asked(workspace, "what becomes of the tax", best=0)
    (found,) = np.flatnonzero(question.matches.words)
    share = words_share(question)[found]
    fused = {odds: fuse(question, drafter_alone(10.0, odds)) for odds in (-8.0, 0.0, 8.0)}
    assert share > 0.8
    has = {odds: chances(one.total)[found] for odds, one in fused.items()}
    assert has == pytest.approx({-8.0: 0.2 * share, 0.0: 0.1 * share, 8.0: 0.0}, abs=1e-3)
    assert all(one.total.argmax() == 0 and one.total.max() == pytest.approx(odds) for odds, one in fused.items())
    assert fused[0].contributions_to(int(found))["words"] > 5
    assert set(fused[8.0].contributions_to(0)) == {"drafter"}


def test_words_have_their_share_of_one_answer_however_many_are_asked_for(workspace: Workspace) -> None:
    subquestions = [asked(workspace, text, best=0) for text in ("what becomes of it", "why is it")]
    whole = asked(workspace, "what becomes of the tax", 0, *subquestions)
    total = fuse(whole, drafter_alone(10.0, 0.0)).total
    (found,) = np.flatnonzero(whole.matches.words)
    assert chances(total)[found] == pytest.approx(0.05 * words_share(whole)[found], abs=1e-3)


def test_words_leave_units_that_have_none_of_them_as_far_apart_as_they_were(workspace: Workspace) -> None:
    question = asked(workspace, "what becomes of the tax", 0)
    rising = np.arange(len(workspace.units), dtype=np.float32)
    total = fuse(replace(question, drafter_scores={"drafter": rising}), drafter_alone(30.0, 0.0)).total
    rest = np.flatnonzero(question.matches.words == 0)
    np.testing.assert_allclose(np.diff(total[rest]), np.diff(30 * zscore(rising)[rest]), rtol=1e-4)


def test_a_very_long_question_does_not_overflow(workspace: Workspace) -> None:
    total = fuse(asked(workspace, "tax prices order " * 1000, 0), WEIGHTS).total
    assert np.isfinite(total).all()


@pytest.mark.parametrize("log_odds", [-1000.0, 30.0, 1000.0])
def test_certainty_does_not_overflow(workspace: Workspace, log_odds: float) -> None:
    question = asked(workspace, "what becomes of the tax", best=0)
    vars(question)["words"] = np.linspace(51, 0.5, len(workspace.units), dtype=np.float32)
    total = fuse(question, drafter_alone(10.0, log_odds)).total
    assert np.isfinite(total).all()
    assert total.max() == pytest.approx(log_odds)


def test_scores_of_a_question_with_subquestions_share_its_chance(workspace: Workspace) -> None:
    subquestions = [asked(workspace, text, best) for best, text in enumerate(("how is it", "why is it", "when is it"))]
    whole = asked(workspace, "what is it", 3)
    odds = [np.exp(zscore(one.drafter_scores["drafter"])) for one in (whole, *subquestions)]
    shares = [own / own.sum() * share for own, share in zip(odds, (1 / 3, 1, 1, 1), strict=True)]
    weights = drafter_alone(1.0, 0.0)
    found = fuse(replace(whole, subquestions=tuple(subquestions)), weights).total
    expected = np.log(np.sum(shares, axis=0))
    np.testing.assert_allclose(found, expected - expected.max(), atol=1e-5)


def test_what_answers_one_of_two_parts_should_fit_the_whole_too(workspace: Workspace) -> None:
    one, other = asked(workspace, "how is it", 0), asked(workspace, "why is it", 1)
    plain = drafter_alone(1.0, 0.0)
    apart = fuse(asked(workspace, "what is it", 1, one, other, one), plain).total
    together = fuse(asked(workspace, "what is it", 1, one, other), plain)
    assert apart.argmax() == 0
    assert together.total.argmax() == 1
    whole = zscore(other.drafter_scores["drafter"])
    shares = [np.exp(zscore(each.drafter_scores["drafter"])) for each in (one, other)]
    likely = sum(share / share.sum() for share in shares) + np.exp(whole) / np.exp(whole).sum() / 2
    expected = np.log(likely) + 0.35 * whole
    np.testing.assert_allclose(together.total, expected - expected.max(), atol=1e-5)
    own = zscore(one.drafter_scores["drafter"])
    assert together.contributions_to(0)["drafter"] == pytest.approx(own[0] + 0.35 * whole[0], abs=0.01)


def test_only_what_adds_to_a_score_is_shown_for_it(workspace: Workspace) -> None:
    fused = fuse(asked(workspace, "what happens", best=2), WEIGHTS)
    assert set(fused.contributions_to(2)) == {"drafter"}


def test_weights_survive_json() -> None:
    assert read_fusion_weights(json.loads(json.dumps(WEIGHTS.document()))) == WEIGHTS


@pytest.mark.parametrize("document", [{}, {"kinds": {}}, {"kinds": {"a": 1}, "clues": {}}, {"kinds": {}, "clues": "x"}])
def test_a_malformed_document_says_what_to_do(document: dict[str, object]) -> None:
    with pytest.raises(ProfileError, match="winnow calibrate"):
        read_fusion_weights(document)


@pytest.mark.parametrize("weights", [({"drafter": {"later": 1.0}}, {}), ({}, {"later": 1.0})])
def test_a_profile_with_features_of_another_version_says_what_to_do(workspace: Workspace, weights: Any) -> None:
    with pytest.raises(ProfileError, match=r"weighs later, .* upgrade it, or run `winnow calibrate`"):
        fuse(asked(workspace, "what happens", best=1), FusionWeights(*weights))
