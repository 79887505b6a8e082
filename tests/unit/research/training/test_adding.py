"""Questions that are added to a data set, and data sets of one base that are joined."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from winnow_research.errors import TrainingError
from winnow_research.training.adding import NewQuestion, join, questions_alone, with_questions
from winnow_research.training.batches import Epoch, Mixture
from winnow_research.training.collector import TokenisedProject, joined
from winnow_research.training.dataset import Dataset


class Bytes:
    """A template whose questions are their bytes."""

    def question(self, text: str) -> SimpleNamespace:
        return SimpleNamespace(ids=np.frombuffer(text.encode(), np.uint8).astype(np.int32))


@pytest.fixture
def data() -> Dataset:
    part = TokenisedProject("a", headers=[np.array([7], np.int32)], unit_counts=[3])
    for unit in range(3):
        part.units.append(np.full(4, unit, np.int32))
        part.bare.append(np.empty(0, np.int32))
        part.twins.append(unit)
    part.kinds, part.questions, part.golds = ["name"], [np.array([9], np.int32)], [[2]]
    part.asked_at, part.quotes, part.languages = [1], [True], ["go"]
    return joined([part], np.array([1], np.int32))


def asked(data: Dataset, kind: str, text: str, *golds: int) -> Dataset:
    return with_questions(data, Bytes(), kind, [NewQuestion(text, golds, 0)])  # type: ignore[arg-type]


def seen(data: Dataset) -> list[tuple[str, list[int], list[int], int, bool]]:
    kinds = [data.kinds[kind] for kind in data.kind_of]
    lists = ([part[n].tolist() for n in range(len(part))] for part in (data.questions, data.golds))
    return list(zip(kinds, *lists, data.asked_at.tolist(), data.quotes.tolist(), strict=True))


def test_joined_data_sets_have_the_questions_of_all_once(data: Dataset) -> None:
    one, two = asked(data, "asked", "x", 1), asked(asked(data, "commit", "y", 0), "chained", "z", 0, 2)
    both = join(one, [two, one])
    assert sorted(seen(both)) == sorted({repr(row): row for row in seen(one) + seen(two)}.values())
    assert both.kinds == ("name", "asked", "commit", "chained")


def test_questions_alone_are_joined_like_the_whole_and_are_no_data_to_train_on(data: Dataset, tmp_path: Path) -> None:
    whole = asked(asked(data, "asked", "x", 1), "chained", "z", 0, 2)
    questions_alone(whole, "chained").save(tmp_path / "chained.npz")
    alone = Dataset.load(tmp_path / "chained.npz")
    assert seen(alone) == [("chained", [122], [0, 2], -1, False)]
    both = join(data, [alone])
    assert seen(both) == [*seen(data), *seen(alone)]
    assert both.units[2].tolist() == data.units[2].tolist()
    with pytest.raises(TrainingError, match="join them"):
        join(alone, [data])
    with pytest.raises(TrainingError, match="join them"):
        Epoch(alone, Mixture(), 0, 0)
