import pytest

from winnow_engine.core import Sampling


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
