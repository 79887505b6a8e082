"""The target alone reads everything, each time anew, in the configuration that is fastest here."""

from pathlib import Path

import pytest

from winnow_engine.core import Cancellation
from winnow_engine.question import Question
from winnow_research.evaluation.cases import Case, Gold, Scene
from winnow_research.evaluation.repositories import SourceFile
from winnow_research.first_token.synthetic import write_synthetic
from winnow_research.first_token.vanilla import CONFIGURATIONS, Vanilla, best_of, whole
from winnow_research.first_token.workspaces import SizedWorkspace

from ...targets.conftest import write_llama
from .test_models import small

PATIENT = 600.0


@pytest.fixture
def workspace(tmp_path: Path) -> SizedWorkspace:
    files = tuple(SourceFile(f"r/{name}.py", f"def {name}():\n    return 1\n".encode()) for name in "ab")
    gold = Case("real", "r", "python", Question("What is a?"), (Gold("r/a.py", 1, 2),))
    scene = Scene("r", files, (gold,))
    scene.write(tmp_path / "workspace")
    return SizedWorkspace(tmp_path / "workspace", 60, 60, scene)


def vanilla(tmp_path: Path, repetitions: int, most_s: float, cancellation: Cancellation | None = None) -> Vanilla:
    tokenizer, target = write_llama(tmp_path / "tiny.gguf"), tmp_path / "synthetic.gguf"
    write_synthetic(small("qwen3.6-27b"), tokenizer, target)
    return Vanilla(target, repetitions, most_s, cancellation or Cancellation())


def test_every_configuration_is_tried_and_the_best_repeated(workspace: SizedWorkspace, tmp_path: Path) -> None:
    run = vanilla(tmp_path, 3, PATIENT)
    found = run.measure(workspace)
    assert set(found) == set(CONFIGURATIONS)
    best = best_of(found)
    assert best is not None
    assert run.order[0] == best[0]
    assert {one: len(answers) for one, answers in found.items()} == {one: 3 if one == best[0] else 1 for one in found}
    for answer in best[1]:
        assert answer.seconds == pytest.approx(sum(answer.stages.values()))
        assert list(answer.stages) == ["read", "tokenise", "prefill"]
        assert answer.prompt_tokens > len(whole(workspace))  # a token a byte, and the instructions
        assert answer.reused_tokens <= 0.01 * answer.prompt_tokens


def test_without_time_one_answer_is_timed(workspace: SizedWorkspace, tmp_path: Path) -> None:
    found = vanilla(tmp_path, 3, 0.0).measure(workspace)
    assert [len(answers) for answers in found.values()] == [1]
