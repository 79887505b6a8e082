"""Training on a small model with random weights: it learns, repeats itself and resumes, and the product agrees."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from safetensors.numpy import load_file

from winnow_engine.core import Cancellation
from winnow_engine.encoder.adapter import AdapterProfile
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileText
from winnow_engine.encoder.profile import join_arrays
from winnow_engine.encoder.segments import cut
from winnow_research.calibration.profile_writing import with_fusion
from winnow_research.cli.train import train as command
from winnow_research.training.batches import Mixture
from winnow_research.training.dataset import Dataset
from winnow_research.training.drafter import TrainableDrafter
from winnow_research.training.examples.base import ProjectTree
from winnow_research.training.heads import MaxSim, Segments, loss_of
from winnow_research.training.trainer import Step, TrainingRecipe, new_model, train

CPU = torch.device("cpu")
MIXTURE = Mixture(tokens=300, chunk_tokens=300, questions=10)


_SHARED = """
import sys
from pathlib import Path
from winnow_research.training.dataset import Dataset
from winnow_research.training.trainer import TrainingRecipe, train
from winnow_research.training.batches import Mixture
drafter, data, out = map(Path, sys.argv[1:])
train(drafter, Dataset.load(data), {recipe}, out, lambda step: print(step.step))
"""


def recipe(steps: int, accumulate: int = 1, **changes: int) -> TrainingRecipe:
    return TrainingRecipe(steps=steps, accumulate=accumulate, layers=2, rank=4, mixture=MIXTURE, **changes)


def test_the_best_dot_product_of_each_segment_and_its_gradient_are_those_of_the_plain_formula() -> None:
    torch.manual_seed(0)
    lengths = np.array([3, 1, 40, 17])
    queries, keys = (torch.randn(rows, 8, requires_grad=True) for rows in (5, 61))
    weights = torch.randn(5, 4)
    plain = torch.stack([part.amax(1) for part in (queries @ keys.T).split(lengths.tolist(), 1)], 1)
    found = MaxSim.apply(queries, keys, Segments(lengths, CPU))
    torch.testing.assert_close(found, plain)
    gradients, wanted = (torch.autograd.grad((one * weights).sum(), (queries, keys)) for one in (found, plain))
    torch.testing.assert_close(gradients, wanted)


def test_each_answer_competes_with_what_answers_not_and_with_no_other_answer() -> None:
    scores = torch.tensor([[1.0, 2.0, 0.5, 9.0], [0.0, 0.0, 3.0, 0.0]])
    positives = torch.tensor([[0, 0, 1], [0, 1, 2]])
    ignored = torch.tensor([[0], [3]])
    first = (np.log1p(np.exp(0.5 - 1.0)) + np.log1p(np.exp(0.5 - 2.0))) / 2
    second = np.log1p(3 * np.exp(-3.0))
    assert loss_of(scores, positives, ignored).item() == pytest.approx((first + second) / 2, rel=1e-5)


def scores_of(model: TrainableDrafter, data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The scores that training sees of all units for all questions, by maxsim and pool: [questions, units] each."""
    files = range(len(data.headers))
    units = [[data.units[n] for n in range(*data.file_units[file : file + 2])] for file in files]
    segments = [one for file in files for one in cut(file, data.headers[file], units[file])]
    with torch.no_grad():
        seen = model.units(segments, np.diff(data.units.offsets))
        maxsim, pool = model.heads(seen, model.questions([data.questions[n] for n in range(len(data.questions))]))
    return maxsim.numpy(), pool.numpy()


def test_the_product_gives_the_scores_that_training_saw(
    drafter: Path, data: Dataset, tree: ProjectTree, tmp_path: Path
) -> None:
    model = new_model(drafter, data, recipe(1), CPU)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith((".b", "kw", "qw")):
                parameter.normal_(0, 0.1)
        for head in (model.heads.maxsim, model.heads.pool):
            head.sc.copy_(torch.tensor([0.0, -0.2]))
            head.get_buffer("mu").normal_(0, 0.2)
    model.save(tmp_path / "adapter.safetensors")

    product = Drafter(drafter, with_fusion(AdapterProfile(tmp_path / "adapter.safetensors")))
    texts = [FileText(file.path, tuple(map(file.text_of, file.units))) for file in tree.haystack.files]
    files = list(product.encode(texts, Cancellation()))
    offsets = np.cumsum([0, *np.concatenate([file.unit_tokens for file in files])])
    arrays = join_arrays([file.arrays for file in files])
    names = [place.unit.name for place in tree.haystack.places if place.unit.name]
    for maxsim, pool, name in zip(*scores_of(model, data), names, strict=True):
        (scored,) = product.score(arrays, offsets, [name], None, Cancellation())
        np.testing.assert_allclose(scored["pooled"], pool, atol=0.01)
        np.testing.assert_allclose(scored["maxsim"], maxsim, atol=0.02)


def test_a_few_steps_lower_the_loss_and_find_more(drafter: Path, data: Dataset, tmp_path: Path) -> None:
    steps: list[Step] = []
    train(drafter, data, recipe(60), tmp_path / "trained.safetensors", steps.append)
    early, late = ([sum(step.loss.values()) for step in part] for part in (steps[:5], steps[-5:]))
    assert np.mean(late) < 0.7 * np.mean(early)
    assert steps[-1].first["maxsim"] > steps[0].first["maxsim"]


def test_two_processes_share_what_one_would_add_up(drafter: Path, data: Dataset, tmp_path: Path) -> None:
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    train(drafter, data, recipe(3, accumulate=2), alone, lambda _: None)
    data.save(tmp_path / "data.npz")
    (tmp_path / "shared.py").write_text(_SHARED.format(recipe=recipe(3, accumulate=2)))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    arguments = [*torchrun, tmp_path / "shared.py", drafter, tmp_path / "data.npz", shared]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "2", "3"]
    expected, found = (load_file(path) for path in (alone, shared))
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name].astype(np.float32), value.astype(np.float32), rtol=2e-2, atol=2e-4)


def test_training_resumes_at_its_checkpoint_as_if_it_had_never_stopped(
    drafter: Path, data: Dataset, tmp_path: Path
) -> None:
    def stop(step: Step) -> None:
        if step.step == 5:
            raise KeyboardInterrupt

    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        train(drafter, data, recipe(6), tmp_path / "never", stop, checkpoint, every=2)
    steps: list[int] = []
    train(drafter, data, recipe(6), tmp_path / "resumed", lambda step: steps.append(step.step), checkpoint, every=2)
    train(drafter, data, recipe(6), tmp_path / "whole", lambda _: None)
    assert steps == [5, 6]
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize(("kind", "warm_up", "other"), [("name", 60, "WrittenEpoch"), ("written", 25, "Epoch")])
def test_the_command_trains_and_writes_the_adapter_with_its_losses(
    kind: str, warm_up: int, other: str, drafter: Path, data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow_research.training.trainer.TrainingRecipe", lambda **changes: recipe(**changes))
    monkeypatch.delattr(f"winnow_research.training.trainer.{other}")
    warm_ups: list[int] = []
    monkeypatch.setattr("winnow_research.training.trainer.cosine", lambda *given: warm_ups.append(given[2]) or 1.0)
    replace(data, kinds=(kind,)).save(tmp_path / "data.npz")
    out = tmp_path / "adapter.safetensors"
    arguments = ["run", str(tmp_path / "data.npz"), str(out), "--drafter", str(drafter), "--steps", "2"]
    result = CliRunner().invoke(command, [*arguments, "--turns", f"{kind}=3"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert AdapterProfile(out).layers == 2
    record = json.loads((tmp_path / "adapter.json").read_text())
    assert [step["step"] for step in record["steps"]] == [1, 2]
    assert warm_ups == [warm_up] * 2
    assert record["recipe"]["rank"] == 4
    assert record["recipe"]["mixture"]["turns"][kind] == 3
