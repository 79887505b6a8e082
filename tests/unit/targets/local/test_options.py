import os

import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.targets.base import Generation


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"seed": -1},
        {"seed": 2**32 - 1},
        {"max_tokens": 0},
        {"stop": ("ok", "")},
    ],
)
def test_sampling_refuses_what_makes_no_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Sampling(**wrong)  # type: ignore[arg-type]


def test_threads_default_to_no_more_than_the_cores_there_are() -> None:
    assert 1 <= TargetOptions().threads <= (os.cpu_count() or 1)
    assert TargetOptions(n_threads=3).threads == 3


def test_decode_speed_leaves_out_the_first_token() -> None:
    times = {"prompt_tokens": 9, "reused_tokens": 0, "prefill_s": 1.0, "first_token_s": 1.0}
    assert Generation("", "eos", **times, decode_tokens=11, decode_s=2.0).decode_tokens_per_s == 5.0
    assert Generation("", "eos", **times, decode_tokens=1, decode_s=0.0).decode_tokens_per_s == 0.0
