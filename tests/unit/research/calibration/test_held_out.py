"""A calibration is used only if it does no worse on questions that it has not seen."""

import numpy as np
import pytest
from click.testing import CliRunner

from winnow_engine.errors import ProfileError
from winnow_engine.selection.fusion import QUESTION_FEATURES
from winnow_engine.selection.fusion_weights import FusionWeights
from winnow_research.calibration.held_out import HeldOut
from winnow_research.calibration.observations import Observation
from winnow_research.cli.calibrate import calibrate

RIGHT = FusionWeights({"heads": {"one": 1.0}}, {"one": 1.0})
WRONG = FusionWeights({"heads": {"one": -1.0}}, {})


def observation(answered: bool = True) -> Observation:
    """The first of ten units answers, and `heads` says so."""
    features = {"heads": np.arange(10, 0, -1).astype(np.float32)}
    question = {**dict.fromkeys(QUESTION_FEATURES, 0.0), "one": 1.0}
    golds = np.array([0] if answered else [], np.int64)
    return Observation("describe", question, {"one": 1.0}, features, golds, np.empty(0, np.int64))


SEEN = [observation() for _ in range(20)]


def test_weights_that_rank_answers_as_well_are_used() -> None:
    gate, said = HeldOut(SEEN, SEEN, SEEN).check(RIGHT, RIGHT)
    assert gate == RIGHT
    assert said == "held out: 1.000, 1.000 without it (mean reciprocal rank, 20 questions held out)"


def test_weights_that_rank_answers_lower_are_refused() -> None:
    with pytest.raises(ProfileError, match=r"less well .*: 0\.100, 1\.000 without it.*nothing is written"):
        HeldOut(SEEN, SEEN, SEEN).check(WRONG, RIGHT)


def test_what_refuses_questions_that_have_an_answer_is_left_out() -> None:
    doubtful = FusionWeights(RIGHT.units, {"one": -4.0})
    gate, said = HeldOut(SEEN, SEEN, [observation(), observation(answered=False)]).check(doubtful, RIGHT)
    assert gate == FusionWeights(RIGHT.units, {})
    assert "because 21 of 21 that have one would be" in said


def test_a_file_in_place_of_a_folder_is_refused() -> None:
    result = CliRunner().invoke(calibrate, ["--out", "profile.json"])
    assert result.exit_code == 2
    assert "a profile is a folder now: --out profile" in result.output
