"""*why* on real weights: what an answer about a generated history cites."""

from contextlib import closing
from pathlib import Path

import git_repositories as git
import pytest

from winnow_engine.assistant import open_assistant
from winnow_engine.config import ModelConfig
from winnow_engine.core import Budget, Cancellation
from winnow_engine.storage.store import Store
from winnow_research.evaluation.histories.asking_why import Answering, answered_why
from winnow_research.evaluation.histories.clones import Pin, opened
from winnow_research.evaluation.histories.run import Histories

pytestmark = pytest.mark.real_weights

INSPECT = """def inspect(passengers):
    for passenger in passengers:
        if not passenger.has_ticket():
            passenger.leave_the_bus()
"""
FILLER = "\n\n".join(f"def walk_{n}(steps):\n    return [step * {n} for step in steps if step]\n" for n in range(60))


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
    scores = {row.method: row.score for row in rows if row.test == "why, any of 6"}
    assert scores["Winnow"] == scores["Winnow's answer"] == 1
