import numpy as np

from winnow_engine.selection.fusion import QUESTION_FEATURES
from winnow_research.calibration.fusion import fit_fusion
from winnow_research.calibration.listwise import ListwiseExample, fit_weights
from winnow_research.calibration.log_odds import fit_log_odds
from winnow_research.calibration.observations import Observation


def example(kind: int, feature: float, chance: np.random.Generator, golds: int = 1) -> ListwiseExample:
    """A question whose golds stand out by one feature."""
    others = chance.normal(size=(40, 3)).astype(np.float32)
    right = chance.normal(size=(golds, 3)).astype(np.float32)
    right[:, kind] += 4
    return ListwiseExample(np.array([1.0, feature]), right, others)


def test_the_weights_say_which_features_count_for_which_questions() -> None:
    chance = np.random.default_rng(0)
    examples = [example(n % 2, n % 2, chance) for n in range(120)]
    weights = fit_weights(examples, penalty=1.0)
    plain, special = weights[:, 0], weights.sum(axis=1)
    assert plain[0] > 1.5 > abs(plain[1])
    assert special[1] > 1.5 > abs(special[0])
    assert np.abs(weights[2]).max() < 1


def test_the_gradient_is_that_of_the_loss() -> None:
    """A penalty so high that the weights stay small leaves -gradient / penalty: it must be the difference quotient."""
    chance = np.random.default_rng(2)
    one = example(0, 0.5, chance, golds=2)
    weights = fit_weights([one], penalty=1e4)

    def loss(kinds: np.ndarray) -> float:
        others, golds = one.others @ kinds, one.golds @ kinds
        return float(np.mean([np.log(1 + np.exp(others - gold).sum()) for gold in golds]))

    step = 1e-4
    slope = [(loss(step * np.eye(3)[k]) - loss(-step * np.eye(3)[k])) / (2 * step) for k in range(3)]
    np.testing.assert_allclose(-weights[:, 0] * 1e4, slope, rtol=0.02, atol=0.01)


def test_log_odds_tell_answered_from_unanswered() -> None:
    chance = np.random.default_rng(3)
    answered = np.arange(400) % 4 > 0  # three times as many, which must not move the border
    features = np.stack([np.ones(400), np.where(answered, 1.0, -1.0) + chance.normal(size=400)], axis=1)
    weights = fit_log_odds(features, answered)
    assert weights[1] > 1
    assert abs(weights[0]) < 0.3


def test_a_fusion_depends_only_on_the_question_features_it_may_use() -> None:
    chance = np.random.default_rng(4)
    seen = [observation(chance, answered=n % 3 > 0) for n in range(30)]
    whole, constant = fit_fusion(seen), fit_fusion(seen, ("one",), ("one",))
    assert set(whole.units["heads"]) == set(QUESTION_FEATURES)
    assert set(constant.units["heads"]) == {"one"}
    assert set(whole.answerability) - set(constant.answerability) == set(QUESTION_FEATURES) - {"one"}
    assert constant.units["heads"]["one"] > 0


def observation(chance: np.random.Generator, answered: bool) -> Observation:
    """A question of random features; the first of ten units is its gold, if it has one, and stands out."""
    question = {name: float(chance.normal()) for name in QUESTION_FEATURES} | {"one": 1.0}
    heads = chance.normal(size=10).astype(np.float32)
    heads[0] += 3 * answered
    golds = np.array([0] if answered else [], np.int64)
    match = question | {"best_heads": float(heads.max())}
    return Observation("describe", question, match, {"heads": heads}, golds, np.empty(0, np.int64))
