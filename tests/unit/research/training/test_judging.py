"""How a reranker's scores are added to the product's, and what its rule looks at."""

from dataclasses import replace

import numpy as np

from winnow_research.training.reranker.judging import Record, compared

NOTHING = np.zeros(0, np.int32)
WAYS = {16_000: [np.array([0, 1, 2])], 32_000: [np.array([0, 1, 2, 3])]}


def _record(**changes: object) -> Record:
    total, sizes = np.array([4.0, 3.0, 2.0, 1.0], np.float32), np.full(4, 400, np.int32)
    said = {16_000: [np.array([-2.0, -1.0, 6.0], np.float32)], 32_000: [np.zeros(4, np.float32)]}
    record = Record("real", "repo", 0, (NOTHING,), total, None, sizes, np.array([2]), (), (), WAYS, {}, said)
    return replace(record, **changes)  # type: ignore[arg-type]


def test_the_golds_are_kept_once_the_budget_reaches_them() -> None:
    assert _record().kept(_record().total) == [False, False, True, True, True]
    assert _record(golds=np.array([-1, 0])).kept(_record().total) == [False] * 5


def test_what_was_not_read_gets_the_mean_of_what_was_said() -> None:
    mean = _record().with_said(16_000, 1.0)
    assert mean.tolist() == [1.0, 1.0, 7.0, 1.0]
    assert _record().with_said(16_000, 0.5).tolist() == [2.5, 2.0, 4.5, 1.0]


def test_of_a_list_each_question_is_read_by_itself() -> None:
    each = [[0.1, 0.1, 0.05, 0.05], [0.6, 0.2, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.1] * 4]
    shares = np.log(np.array(each, np.float32))
    ways = {16_000: [np.array([0, 1]), np.array([1, 2]), np.array([0, 3])]}
    said = {16_000: [np.array([1.0, -1.0], np.float32), np.zeros(2, np.float32), np.zeros(2, np.float32)]}
    listed = _record(subquestions=3, log_shares=shares, ways=ways, said=said)
    gains = listed.with_said(16_000, 1.0) - listed.total
    first = np.array([0.6 * np.e, 0.2 / np.e, 0.1, 0.1]) / (0.6 * np.e + 0.2 / np.e + 0.2)
    wanted = np.log(first + np.exp(shares[[0, 2, 3]]).sum(0)) - np.log(np.exp(shares).sum(0))
    np.testing.assert_allclose(gains, wanted, atol=1e-5)


def test_a_reader_passes_only_if_every_budget_gains() -> None:
    wide = {"tokens": np.full(4, 3000, np.int32)}
    records = [_record(), _record(**wide), _record(tokens=np.full(4, 1500, np.int32))]
    product, leading, nothing = compared(records, records)
    assert product["development"]["real"][-1] == 3
    assert leading["rule"]["sum"][1] > 0  # two units of 1,500 tokens fit into 4,000: the third one is kept if it leads
    assert leading["rule"]["passes"] == (min(leading["rule"]["sum"]) > 0)
    assert not nothing["rule"]["passes"]
