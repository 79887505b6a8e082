"""How a reader's scores are added to the product's, and what its rule looks at."""

from dataclasses import replace

import numpy as np
import pytest

from winnow_engine.drafter.reader.use import Addition
from winnow_research.training.reader.judging import Record, compared, gain

NOTHING = np.zeros(0, np.int32)
WAYS = {"leading 8000": np.array([0, 1, 2]), "reachable 16000": np.array([0, 1, 2, 3])}


def _record(**changes: object) -> Record:
    record = Record(
        "real",
        "repo",
        0,
        NOTHING,
        np.array([4.0, 3.0, 2.0, 1.0], np.float32),
        np.full(4, 400, np.int32),
        np.array([2]),
        (),
        (),
        WAYS,
        {},
        {"leading 8000": np.array([-2.0, -1.0, 6.0], np.float32), "reachable 16000": np.zeros(4, np.float32)},
    )
    return replace(record, **changes)  # type: ignore[arg-type]


def test_the_golds_are_kept_once_the_budget_reaches_them() -> None:
    assert _record().kept(_record().total) == [False, False, True, True, True]
    assert _record(golds=np.array([-1, 0])).kept(_record().total) == [False] * 5


def test_what_is_at_the_cursor_is_kept_first() -> None:
    assert _record(focus=(2,)).kept(_record().total)[0]


def test_what_was_not_read_gets_the_mean_or_the_lowest_of_what_was_said() -> None:
    mean = _record().with_said("leading 8000", Addition(1.0, False, False))
    assert mean.tolist() == [1.0, 1.0, 7.0, 1.0]
    lowest = _record().with_said("leading 8000", Addition(0.5, False, True))
    assert lowest.tolist() == [2.5, 2.0, 4.5, -0.5]
    standard = _record().with_said("leading 8000", Addition(1.0, True, False)) - _record().total
    assert standard[:3].std() == pytest.approx(1, abs=1e-3)


def test_a_list_of_questions_is_not_read() -> None:
    how = Addition(1.0, standard=False, lowest=False)
    assert (_record(subquestions=2).with_said("leading 8000", how) != _record().total).any()
    listed = _record(subquestions=3, said={})
    assert listed.with_said("leading 8000", how).tolist() == listed.total.tolist()


def test_real_counts_twice() -> None:
    before, after = {"real": [0.0] * 6, "doc": [0.0] * 6}, {"real": [0, 0, 1.0, 0, 2.0, 5], "doc": [0, 0, 1.0, 0, 0, 5]}
    assert gain(before, after) == [3.0, 0.0, 4.0]


def test_a_reader_passes_only_if_every_budget_gains() -> None:
    wide = {"tokens": np.full(4, 3000, np.int32)}
    records = [_record(), _record(**wide), _record(tokens=np.full(4, 1500, np.int32))]
    product, leading, nothing = compared(records, records)
    assert product["development"]["real"][-1] == 3
    assert leading["rule"]["sum"][1] > 0  # two units of 1,500 tokens fit into 4,000: the third one is kept if it leads
    assert leading["rule"]["passes"] == (min(leading["rule"]["sum"]) > 0)
    assert not nothing["rule"]["passes"]
