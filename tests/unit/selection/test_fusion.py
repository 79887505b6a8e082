import numpy as np
import pytest

from winnow_engine.selection.fusion import Evidence, fuse, zscore


def test_zscore_by_hand() -> None:
    np.testing.assert_allclose(zscore(Evidence(np.array([1, 2, 3], np.float32))), [-1.2247, 0, 1.2247], atol=1e-4)


def test_evidence_that_tells_nothing_apart_counts_nothing() -> None:
    flat = Evidence(np.full(4, 7, np.float32))
    assert zscore(flat).tolist() == [0, 0, 0, 0]
    assert fuse({"a": flat, "b": Evidence(np.array([0, 0, 1, 0], np.float32))}).total.argmax() == 2


@pytest.mark.parametrize("limit", [1.5, 6.0])
def test_one_outlier_is_cut_off_at_its_limit(limit: float) -> None:
    lonely = np.zeros(10_000, np.float32)
    lonely[17] = 1
    assert zscore(Evidence(lonely, limit)).max() == limit


def test_fusing_nothing_over_no_units() -> None:
    assert fuse({"a": Evidence(np.empty(0, np.float32))}).total.shape == (0,)
