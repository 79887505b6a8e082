"""A reranker on a small model with random weights: what it is shown, that it learns, resumes and repeats itself."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from winnow_cuda.shapes import Int32
from winnow_engine.core import Cancellation
from winnow_engine.encoder.template import Template
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models import cache
from winnow_engine.models.gguf_header import read_header
from winnow_engine.reranker.file import read_reranker
from winnow_engine.reranker.layout import UnitText, segments_of
from winnow_engine.reranker.reranker import load_reranker
from winnow_research import training
from winnow_research.cli.train import train as command
from winnow_research.training.dataset import Dataset
from winnow_research.training.network import LowRank
from winnow_research.training.reranker.further import loss_of
from winnow_research.training.reranker.judging import Record
from winnow_research.training.reranker.lists import ListRecipe, Lists, lists_of
from winnow_research.training.reranker.model import ReadBatch, TrainableReranker, batch_of
from winnow_research.training.reranker.trainer import RerankerRecipe, RerankerTrainer, new_reranker
from winnow_research.training.trainer import TrainingRecipe, new_model

from .test_training import scores_of

CPU = torch.device("cpu")
RECIPE = RerankerRecipe(
    layers=2, rank=8, steps=80, accumulate=1, questions=5, segments=1, segment_tokens=1024, learning_rate=1e-2
)


def _ids(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


@pytest.fixture(scope="module")
def adapter(drafter: Path, data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adapter") / "adapter.safetensors"
    new_model(drafter, data, TrainingRecipe(layers=2, rank=4), CPU).save(path)
    torch.use_deterministic_algorithms(False)
    return path


@pytest.fixture(scope="module")
def lists(drafter: Path, data: Dataset, adapter: Path) -> Lists:
    return lists_of(drafter, adapter, data, ListRecipe(questions=10), CPU, lambda _: None)


def test_a_low_rank_update_has_the_gradients_of_the_plain_formula() -> None:
    torch.manual_seed(0)
    module = LowRank(torch.randn(6, 5), torch.randn(6), 2, 2.0)
    with torch.no_grad():
        module.b.normal_()
    x = torch.randn(7, 5, requires_grad=True)
    plain = x @ module.get_buffer("weight").T + module.get_buffer("bias") + 2.0 * (x @ module.a.T) @ module.b.T
    given = torch.randn(7, 6)
    wanted = torch.autograd.grad((plain * given).sum(), (x, module.a, module.b))
    found = torch.autograd.grad((module(x) * given).sum(), (x, module.a, module.b))
    torch.testing.assert_close(module(x), plain)
    torch.testing.assert_close(found, wanted)
    before = module(x).detach()
    module.merge()
    torch.testing.assert_close(module(x), before)


def test_padding_and_the_segments_beside_it_do_not_move_a_score(drafter: Path) -> None:
    reranker = new_reranker(drafter, RECIPE, CPU)
    with torch.no_grad():
        for parameter in reranker.parameters():
            parameter.normal_(0, 0.1)
    units = [UnitText(0, _ids(258, 40), _ids(*range(50 + n, 60 + n))) for n in range(4)]
    segments = list(segments_of(_ids(256), _ids(70, 71), units, _ids(258), 32))
    assert len(segments) == 2
    both = reranker(batch_of(segments, 64, 3, CPU))
    alone = torch.cat([reranker(batch_of([segment], 32, 1, CPU)) for segment in segments])
    torch.testing.assert_close(both, alone, atol=1e-4, rtol=1e-4)


def test_lists_have_the_scores_that_training_sees(drafter: Path, data: Dataset, adapter: Path, lists: Lists) -> None:
    model = new_model(drafter, data, TrainingRecipe(layers=2, rank=4), CPU)
    torch.use_deterministic_algorithms(False)
    model.load(adapter)
    seen = np.stack(scores_of(model, data), 2)
    for row, question in enumerate(lists.questions.tolist()):
        wanted = (seen[question] - seen[question].mean(0)) / seen[question].std(0)
        np.testing.assert_allclose(lists.first(row), wanted[lists.units[row]], atol=1e-2)


def test_it_learns_to_find_the_golds(drafter: Path, data: Dataset, lists: Lists) -> None:
    reranker = new_reranker(drafter, RECIPE, CPU)
    trainer = RerankerTrainer(reranker, data, lists, RECIPE)
    told = trainer.run(600, lambda _: None)
    assert told[-1]["loss"] < 0.5 * told[0]["loss"]
    assert told[-1]["rank"] > 0.8
    assert all(np.isfinite(one["gradient"]) for one in told)


def test_it_resumes_at_its_checkpoint(drafter: Path, data: Dataset, lists: Lists, tmp_path: Path) -> None:
    recipe = RerankerRecipe(layers=1, rank=2, steps=6, accumulate=1, questions=2, segments=1, segment_tokens=256)

    def stop(text: str) -> None:
        if "'step': 3" in text:
            raise KeyboardInterrupt

    checkpoint = tmp_path / "checkpoint"
    reranker = new_reranker(drafter, recipe, CPU)
    with pytest.raises(KeyboardInterrupt):
        RerankerTrainer(reranker, data, lists, recipe).run(1e9, stop, checkpoint, every=2)
    resumed, whole = new_reranker(drafter, recipe, CPU), new_reranker(drafter, recipe, CPU)
    RerankerTrainer(resumed, data, lists, recipe).run(1e9, lambda _: None, checkpoint, every=2)
    RerankerTrainer(whole, data, lists, recipe).run(1e9, lambda _: None)
    for name, value in whole.state_dict().items():
        torch.testing.assert_close(resumed.state_dict()[name], value, atol=1e-5, rtol=1e-4)


def test_the_command_writes_a_reader_that_scores_as_the_trained_one(
    drafter: Path, data: Dataset, adapter: Path, tmp_path: Path
) -> None:
    data.save(tmp_path / "data.npz")
    out = tmp_path / "reranker.safetensors"
    options = ["--drafter", str(drafter), "--adapter", str(adapter), "--steps", "2", "--layers", "2", "--rank", "4"]
    options += ["--segments", "1", "--batch", "2", "--asked", "8", "--minutes", "5", "--turns", "name=3"]
    options += ["--learning-rate", "0.001"]
    done = CliRunner().invoke(
        command, ["reranker", str(tmp_path / "data.npz"), str(out), *options], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    record = json.loads(out.with_suffix(".json").read_text())
    assert [step["step"] for step in record["steps"]] == [1, 2]
    assert (record["lists"]["turns"]["name"], record["recipe"]["learning_rate"]) == (3, 0.001)
    units = [UnitText(0, data.headers[0], data.units[n]) for n in range(3)]
    agree(drafter, out, 2, 4, data.prefix, data.questions[0], units)


def _asked(shares: np.ndarray | None) -> Record:
    """A question, or a list of two, about six units, of which the fourth answers."""
    parts, texts = (1 if shares is None else 2), {n: UnitText(0, _ids(256), _ids(*[70 + n] * 40)) for n in range(6)}
    ways, total = {16_000: [np.arange(1, 6)] * parts}, np.linspace(0, -2, 6, dtype=np.float32)
    tokens = np.array([40, 400, 90, 60, 33, 20], np.int32)
    return Record("real", "r", 0, (_ids(80),) * parts, total, shares, tokens, np.array([3]), (), (), ways, texts)


def test_further_training_wants_the_golds_above_all_else_by_both_scores() -> None:
    listed = np.log(np.full((3, 6), 0.1, np.float32) * np.arange(1, 4)[:, None] / 2)
    said = np.random.default_rng(0).normal(size=15).astype(np.float32)
    wanted = []
    for record, own in ((_asked(None), [said[:5]]), (_asked(listed), [said[5:10], said[10:]])):
        record.said[16_000] = own
        for exponent in (0, 0.8):
            by = record.with_said(16_000, 1.0) - exponent * np.log(np.maximum(record.tokens, 32))
            wanted.append(np.log(np.exp(by).sum()) - by[3])
    examples = [(record, record.ways[16_000]) for record in (_asked(None), _asked(listed))]
    assert loss_of(torch.from_numpy(said), examples).item() == pytest.approx(np.mean(wanted), abs=1e-5)


def test_the_command_trains_a_reader_further(drafter: Path, tmp_path: Path) -> None:
    texts = [_asked(None).texts[n] for n in range(6)]
    file = written(drafter, 2, 4, tmp_path / "reranker.safetensors", _ids(256), _ids(80), texts)
    options = ["judge", "further", str(tmp_path), "--reranker", str(file), "--model", str(drafter), "--minutes", "0.02"]
    (tmp_path / "records-calibration.pickle").write_bytes(pickle.dumps([_asked(None)]))
    done = CliRunner().invoke(command, [*options, "--out", str(tmp_path / "more.safetensors")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    before, after = (read_reranker(path, read_header(drafter)) for path in (file, tmp_path / "more.safetensors"))
    assert np.abs(after.head.votes - before.head.votes).max() > 0
    np.testing.assert_allclose(after.head.mu, before.head.mu, atol=1e-6)


@pytest.mark.real_weights
def test_the_engine_scores_real_code_as_training_does_after_all_layers_of_the_drafter(tmp_path: Path) -> None:
    drafter = cache.path("qwen2.5-coder-0.5b")
    vocabulary = Vocabulary(LlamaModel(drafter, vocabulary_only=True))
    template = Template(vocabulary)
    source = Path(training.__file__).parent / "network.py"
    texts = source.read_text().split("\n\n\n")
    units = [UnitText(0, template.header("network.py"), vocabulary.tokenize(text)) for text in texts]
    question = template.question("Where are low-rank updates made part of the frozen weights?").ids
    file = written(drafter, 24, 4, tmp_path / "reranker.safetensors", template.prefix, question, units)
    assert agree(drafter, file, 24, 4, template.prefix, question, units).std() > 0.1


def written(
    drafter: Path, layers: int, rank: int, path: Path, prefix: Int32, question: Int32, units: list[UnitText]
) -> Path:
    """The file of an untrained reranker whose updates and head are not nothing, and whose head has measured."""
    reranker = TrainableReranker(drafter, layers, rank)
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in reranker.named_parameters():
            if name.endswith(".b"):
                parameter.normal_(0, 0.02)
        reranker.head.measure(reranker.hidden(read_of(prefix, question, units)))
        reranker.head.votes.normal_(0, 0.1)
        reranker.head.length.fill_(-0.5)
    reranker.save(path)
    return path


def agree(
    drafter: Path, file: Path, layers: int, rank: int, prefix: Int32, question: Int32, units: list[UnitText]
) -> np.ndarray:
    """The engine's scores, which are those of PyTorch."""
    reranker = TrainableReranker(drafter, layers, rank)
    reranker.load(file)
    with torch.no_grad():
        wanted = reranker(read_of(prefix, question, units)).numpy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WINNOW_CACHE_DIR", str(file.parent / "cache"))
        patch.setattr("winnow_engine.reranker.reranker.bare_matrix_form", lambda: "float32")  # as on a GPU
        engine = load_reranker(drafter, read_reranker(file, read_header(drafter)), prefix)
    found = engine.scores(engine.segments(question, units), Cancellation())
    np.testing.assert_allclose(found, wanted, atol=1e-3 * max(1, np.abs(wanted).max()))
    return found


def read_of(prefix: Int32, question: Int32, units: list[UnitText]) -> ReadBatch:
    segments = list(segments_of(prefix, question, units, units[0].header[:1], 2048))
    return batch_of(segments, max(map(len, segments)), len(segments), CPU)
