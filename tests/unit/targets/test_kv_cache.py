import numpy as np
import pytest

from winnow_engine.llama.kv_cache import common_prefix


@pytest.mark.parametrize(
    ("left", "right", "length"),
    [([], [], 0), ([1, 2], [], 0), ([1, 2], [1, 2], 2), ([1, 2, 3], [1, 2, 4], 2), ([1], [1, 9], 1), ([2], [1], 0)],
)
def test_common_prefix(left: list[int], right: list[int], length: int) -> None:
    assert common_prefix(np.array(left, np.int32), np.array(right, np.int32)) == length
