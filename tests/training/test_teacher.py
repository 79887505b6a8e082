"""A reranker with random weights teaches a small adapter."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from winnow_research.cli.train import train as command
from winnow_research.training.batches import Epoch, TrainingBatch
from winnow_research.training.dataset import Dataset
from winnow_research.training.drafter import TrainableDrafter
from winnow_research.training.reranker.trainer import RerankerRecipe, new_reranker
from winnow_research.training.teacher import Teacher
from winnow_research.training.trainer import TrainingRecipe, new_model

from .test_training import MIXTURE, recipe

CPU = torch.device("cpu")


def adapter(drafter: Path, data: Dataset, path: Path) -> TrainableDrafter:
    """An adapter whose heads are measured, saved to `path`."""
    model = new_model(drafter, data, TrainingRecipe(layers=2, rank=4), CPU)
    torch.use_deterministic_algorithms(False)
    model.save(path)
    return model


@pytest.fixture
def reranker(drafter: Path, tmp_path: Path) -> Path:
    """One that says something."""
    reader = new_reranker(drafter, RerankerRecipe(layers=2, rank=4), CPU)
    with torch.no_grad():
        reader.head.votes.normal_(0, 0.2)
    reader.save(tmp_path / "reranker.safetensors")
    return tmp_path / "reranker.safetensors"


@pytest.fixture
def batch(data: Dataset) -> TrainingBatch:
    return Epoch(data, MIXTURE, 0, 0).batch(0)


def scores_of(model: TrainableDrafter, batch: TrainingBatch) -> tuple[torch.Tensor, torch.Tensor]:
    scores: tuple[torch.Tensor, torch.Tensor] = model.heads(
        model.units(batch.segments, batch.column_tokens), model.questions(batch.questions)
    )
    return scores


def test_a_reranker_that_says_nothing_leaves_the_adapter_as_it_was(
    drafter: Path, data: Dataset, batch: TrainingBatch, tmp_path: Path
) -> None:
    before = adapter(drafter, data, tmp_path / "a")
    silent = tmp_path / "silent.safetensors"
    new_reranker(drafter, RerankerRecipe(layers=2, rank=4), CPU).save(silent)
    said = torch.stack(scores_of(before, batch)).mean(0).detach()
    teacher = Teacher(before, silent, drafter)
    assert teacher.divergence(batch, (said, said)).item() == pytest.approx(0, abs=1e-5)
    assert teacher.divergence(batch, (said, -said)).item() > 0.01


def test_the_divergence_is_that_of_chances_among_the_units_read(
    drafter: Path, data: Dataset, batch: TrainingBatch, reranker: Path, tmp_path: Path
) -> None:
    before = adapter(drafter, data, tmp_path / "a")
    scores = [score.detach() for score in scores_of(before, batch)]
    found = Teacher(before, reranker, drafter).divergence(batch, scores).item()
    one_by_one = []
    for row in range(len(batch.asked)):
        alone = replace(
            batch,
            asked=batch.asked[row : row + 1],
            positives=batch.positives[:, batch.positives[0] == row] * [[0], [1]],
            ignored=batch.ignored[:, batch.ignored[0] == row] * [[0], [1]],
        )
        some = [score[row : row + 1] for score in scores]
        one_by_one.append(Teacher(before, reranker, drafter).divergence(alone, some).item())
    assert found == pytest.approx(np.mean(one_by_one), rel=1e-3)
    assert found > 0.01


def test_the_command_comes_closer_to_the_teacher(
    drafter: Path,
    data: Dataset,
    batch: TrainingBatch,
    reranker: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("winnow_research.training.trainer.TrainingRecipe", lambda **changes: recipe(**changes))
    start, out = tmp_path / "start.safetensors", tmp_path / "taught.safetensors"
    before = adapter(drafter, data, start)
    data.save(tmp_path / "data.npz")
    replace(data, kinds=("written",)).save(tmp_path / "written.npz")
    arguments = ["run", str(tmp_path / "data.npz"), str(out), "--drafter", str(drafter), "--teacher", str(reranker)]
    refused = CliRunner().invoke(command, arguments)
    assert refused.exit_code == 2
    assert "--teacher needs --from" in refused.output
    arguments += ["--from", str(start), "--also", str(tmp_path / "written.npz"), "--turns", "written=4"]
    result = CliRunner().invoke(command, [*arguments, "--steps", "40"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    record = json.loads(out.with_suffix(".json").read_text())
    assert record["recipe"]["mixture"]["turns"]["written"] == 4
    assert len(record["recipe"]["teacher"]) == 64
    assert len(record["data"]) == 2
    after = new_model(drafter, data, TrainingRecipe(layers=2, rank=4), CPU)
    after.load(out)
    torch.use_deterministic_algorithms(False)
    teacher = Teacher(before, reranker, drafter)
    with torch.no_grad():
        early, late = (teacher.divergence(batch, scores_of(model, batch)).item() for model in (before, after))
    assert late < 0.8 * early
