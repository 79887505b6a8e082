"""*impact* on real weights: what a change to a generated repository keeps of the callers and tests that followed."""

from contextlib import closing
from pathlib import Path

import git_repositories as git
import pytest

from winnow_engine.assistant import Assistant, open_assistant
from winnow_engine.config import ModelConfig
from winnow_engine.core import Budget, Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.storage.store import Store
from winnow_research.evaluation.histories.asking_impact import Means, answered_impact
from winnow_research.evaluation.histories.asking_why import Answering, answered_why
from winnow_research.evaluation.histories.clones import Pin, opened
from winnow_research.evaluation.histories.run import Histories

pytestmark = pytest.mark.real_weights

FARES = """def fare_between(first, last):
    return 3 * abs(first - last)
"""
SALES = """from shop.fares import fare_between


def sell(passenger, first, last):
    passenger.pay(fare_between(first, last))
"""
INSPECT = """def inspect(passengers):
    for passenger in passengers:
        if not passenger.has_ticket():
            passenger.leave_the_bus()
"""
FILLER = "\n\n".join(f"def walk_{n}(steps):\n    return [step * {n} for step in steps if step]\n" for n in range(60))


@pytest.fixture
def histories(tmp_path: Path) -> Histories:
    top = git.new(tmp_path / "clones" / "ada" / "buses")
    git.commit(top, "Sell tickets", {"shop/fares.py": FARES, "shop/sales.py": SALES, "walks.py": FILLER})
    git.commit(
        top,
        "Charge less on Sundays",
        {
            "shop/fares.py": FARES.replace("last):", "last, sunday):").replace("3 *", "(2 if sunday else 3) *"),
            "shop/sales.py": SALES.replace("first, last))", "first, last, passenger.on_sunday))"),
        },
    )
    return asked(top)


def asked(top: Path) -> Histories:
    pin = Pin("buses", "ada/buses", git.head(top), "python")
    return Histories(opened([pin], top.parents[1], Cancellation()), 5, 0, print)


def test_an_answer_cites_the_commit_that_wrote_lines_which_moved(
    tmp_path: Path, smollm2: Path, qwen_target: Path
) -> None:
    top = git.new(tmp_path / "clones" / "ada" / "buses")
    git.commit(top, "Begin with walks", {"walks.py": FILLER})
    git.commit(top, "Inspect tickets, as too many people ride for free", {"bus.py": INSPECT})
    git.commit(top, "Part the bus", {"bus.py": "", "inspecting.py": INSPECT})
    models = ModelConfig(str(smollm2), str(qwen_target))
    with closing(Store(tmp_path / "index.sqlite")) as store, closing(open_assistant(models, store)) as assistant:
        rows = list(answered_why(asked(top), Answering(assistant, Budget(300))))
    scores = {row.method: row.scores["any of 6"] for row in rows}
    assert scores["Winnow"] == scores["Winnow's answer"] == 1


def test_the_caller_that_followed_is_kept(histories: Histories, smollm2: Path, tmp_path: Path) -> None:
    with (
        closing(Store(tmp_path / "index.sqlite")) as store,
        closing(Assistant(store, lambda: Drafter(smollm2))) as assistant,
    ):
        rows = list(answered_impact(histories, Means(assistant, store, Budget(300))))
    assert [row.method for row in rows] == ["Winnow", "BM25"]
    assert dict(rows[0].scores) == {"callers and tests": 1, "callers": 1}
