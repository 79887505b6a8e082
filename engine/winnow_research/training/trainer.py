"""`winnow train run`: trains an adapter on a data set, the same for equal seeds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

import torch
from torch import Tensor

from winnow_engine.encoder.adapter import AdapterProfile
from winnow_research.errors import TrainingError
from winnow_research.training import checkpoint as checkpoints
from winnow_research.training.batches import Epoch, Mixture, TrainingBatch
from winnow_research.training.dataset import Dataset
from winnow_research.training.drafter import TrainableDrafter
from winnow_research.training.heads import HEADS, loss_of
from winnow_research.training.processes import device_of_process, team
from winnow_research.training.schedule import cosine, set_rates
from winnow_research.training.teacher import Teacher
from winnow_research.training.written_batches import WrittenEpoch

_WARM_UP = 60  # steps
_WRITTEN_WARM_UP = 25
_HEADS_FASTER = 2.0
_SCALE_FASTER = 10.0
_CLIP = 1.0
_TAUGHT = 0.5  # how much golds count beside a teacher
_ALSO_EVERY = 4  # batches
_START = 0  # the seed of the weights before the first step


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """Everything that decides the result, besides the data and the drafter.

    A step adds up the gradients of `accumulate` batches, which several processes may share. The seed decides the
    batches. The initial weights are always the same, without which heads could not be averaged (`mean.py`), or those of
    the adapter whose identity is `start`. `teacher` is the hash of a reranker that teaches.
    """

    steps: int = 960
    accumulate: int = 2
    layers: int = 8
    rank: int = 32
    learning_rate: float = 8e-4
    seed: int = 0
    mixture: Mixture = field(default_factory=Mixture)
    recomputed: int = 0
    start: str = ""
    teacher: str = ""

    def after(self, adapter: AdapterProfile) -> TrainingRecipe:
        """The recipe to train an adapter further: of its layers and rank."""
        return replace(self, layers=adapter.layers, rank=adapter.rank, start=adapter.identity)


@dataclass(frozen=True, slots=True)
class Step:
    """What one step reports: the loss of each head, and how often it ranks an answer first."""

    step: int
    loss: dict[str, float]
    first: dict[str, float]
    seconds: float


def train(
    drafter: Path,
    data: Dataset,
    recipe: TrainingRecipe,
    out: Path,
    report: Callable[[Step], None],
    checkpoint: Path | None = None,
    every: int = 200,
    start: Path | None = None,
    also: Dataset | None = None,
    teacher: tuple[Path, Path] | None = None,
) -> None:
    """Train on this process's device and write the adapter `out`. Equal recipes on equal machines give equal files.

    With an adapter to `start` from, the recipe is one `after` it, and a `teacher`, a reranker and its model, can add to
    what that adapter says. One batch in four is of the data set `also`. Raises TrainingError for a checkpoint of
    another recipe or an adapter of another scale, and the errors of models.
    """
    device = device_of_process()
    model = new_model(drafter, data, recipe, device)
    taught_by = None
    if start is not None:
        model.load(start)
        if teacher is not None:
            before = new_model(drafter, data, recipe, device)
            before.load(start)
            taught_by = Teacher(before, *teacher)
    trainer = Trainer(model, data, recipe, also, taught_by)
    trainer.run(report, checkpoint, every)
    if trainer.reports:
        model.save(out)


def new_model(drafter: Path, data: Dataset, recipe: TrainingRecipe, device: torch.device) -> TrainableDrafter:
    """An untrained model on `device`. On a GPU the frozen layers compute in bfloat16."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without this cuBLAS is not deterministic
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(_START)
    model = TrainableDrafter(drafter, data.prefix, recipe.layers, recipe.rank)
    model.network.recomputed = recipe.recomputed
    if device.type == "cuda":
        model.network.compute_in(torch.bfloat16)
    return model.to(device)


class Trainer:
    """Trains a model step by step. Under `torchrun`, each process takes its share of a step's batches."""

    def __init__(
        self,
        model: TrainableDrafter,
        data: Dataset,
        recipe: TrainingRecipe,
        also: Dataset | None = None,
        teacher: Teacher | None = None,
    ) -> None:
        """Raises TrainingError if there are more processes than a step has batches."""
        self._model, self._data, self._recipe, self._also, self._teacher = model, data, recipe, also, teacher
        self._team = team()
        self._share = self._team.share(recipe.accumulate)
        self._optimiser = _optimiser(model, recipe.learning_rate)
        self._done = 0

    @property
    def reports(self) -> bool:
        """Whether this is the one process that reports and writes files."""
        return self._team.leads

    def run(self, report: Callable[[Step], None], checkpoint: Path | None, every: int) -> None:
        """Train to the recipe's last step, from `checkpoint` on if that file exists; write it every `every` steps."""
        if checkpoint is not None and checkpoint.is_file():
            self._resume(checkpoint)
        batches = self._batches()
        if self._done == 0 and not self._recipe.start:
            self._measure()
        started = time.perf_counter()
        upcoming = self._next(batches)
        while self._done < self._recipe.steps:
            results = self._step(upcoming)
            self._done += 1
            upcoming = self._next(batches)  # built while the device works; only reading the results waits
            if self.reports:
                report(_reported(self._done, results, time.perf_counter() - started))
                if checkpoint is not None and self._done % every == 0:
                    self._save(checkpoint)

    def _next(self, batches: Iterator[TrainingBatch]) -> list[TrainingBatch]:
        return [next(batches) for _ in self._share]

    def _batches(self) -> Iterator[TrainingBatch]:
        """The batches of this process, from the next step on."""
        first = self._done * self._recipe.accumulate
        for number, build in enumerate(_batches(self._data, self._recipe, self._also)):
            if number >= first and number % self._recipe.accumulate in self._share:
                yield build()

    @torch.no_grad()
    def _measure(self) -> None:
        """Measure the heads' statistics on the first batch, with the untrained layers."""
        batch = next(_batches(self._data, self._recipe))()
        self._model.heads.measure(self._model.units(batch.segments, batch.column_tokens).hidden)

    def _step(self, batches: list[TrainingBatch]) -> Tensor:
        """Make one update. Returns what `_backward` returns for each batch, [batches, 4]."""
        warm_up = _WRITTEN_WARM_UP if "written" in self._recipe.mixture.turns else _WARM_UP
        set_rates(self._optimiser, cosine(self._done, self._recipe.steps, warm_up))
        self._optimiser.zero_grad(set_to_none=True)
        results = torch.stack([self._backward(batch) for batch in batches])
        trained = [p for group in self._optimiser.param_groups for p in group["params"]]
        self._team.add_up(trained)
        torch.nn.utils.clip_grad_norm_(trained, _CLIP)
        self._optimiser.step()
        return results

    def _backward(self, batch: TrainingBatch) -> Tensor:
        """Add a batch's gradients. Returns the loss of both heads, and how often each ranks an answer first: [4]."""
        device = self._model.device
        positives, ignored = (torch.from_numpy(pairs).to(device) for pairs in (batch.positives, batch.ignored))
        units = self._model.units(batch.segments, batch.column_tokens)
        scores = self._model.heads(units, self._model.questions(batch.questions))
        losses = [loss_of(each, positives, ignored) for each in scores]
        total = torch.stack(losses).sum()
        if self._teacher is not None:
            total = _TAUGHT * total + self._teacher.divergence(batch, scores)
        (total / self._recipe.accumulate).backward()
        return torch.stack([*losses, *(_first(each, positives, ignored) for each in scores)]).detach()

    def _save(self, path: Path) -> None:
        state = {"step": self._done, "optimiser": self._optimiser.state_dict(), "trained": self._model.state_dict()}
        checkpoints.save({**state, "recipe": asdict(self._recipe)}, path)

    def _resume(self, path: Path) -> None:
        state = checkpoints.load(path, self._model.device, asdict(self._recipe))
        self._done = state["step"]
        self._optimiser.load_state_dict(state["optimiser"])
        self._model.load_state_dict(state["trained"], strict=False)


def _reported(step: int, results: Tensor, seconds: float) -> Step:
    means = [round(value, 4) for value in results.mean(0).tolist()]
    heads = tuple(HEADS)
    return Step(
        step, dict(zip(heads, means[:2], strict=True)), dict(zip(heads, means[2:], strict=True)), round(seconds, 2)
    )


def _batches(
    data: Dataset, recipe: TrainingRecipe, also: Dataset | None = None
) -> Iterator[Callable[[], TrainingBatch]]:
    """A function for each batch that builds it, one in four of `also`."""
    batches = _of(data, recipe)
    if also is None:
        yield from batches
        return
    others = _of(also, recipe)
    for number in count(1):
        yield next(batches if number % _ALSO_EVERY else others)


def _of(data: Dataset, recipe: TrainingRecipe) -> Iterator[Callable[[], TrainingBatch]]:
    """A function for each batch of a data set, epoch after epoch."""
    kind = WrittenEpoch if "written" in recipe.mixture.turns and "written" in data.kinds else Epoch
    for number in count():
        epoch = kind(data, recipe.mixture, recipe.seed, number)
        if not len(epoch):
            raise TrainingError("the data set is smaller than one batch: prepare it from more projects")
        yield from (partial(epoch.batch, index) for index in range(len(epoch)))


def _optimiser(model: TrainableDrafter, peak: float) -> torch.optim.AdamW:
    scales = [model.heads.maxsim.sc, model.heads.pool.sc]
    heads = [p for head in (model.heads.maxsim, model.heads.pool) for p in (head.k, head.q, head.kw, head.qw)]
    groups = ((list(model.network.parameters()), peak), (heads, peak * _HEADS_FASTER), (scales, peak * _SCALE_FASTER))
    described = [{"params": parameters, "peak": rate, "lr": 0.0} for parameters, rate in groups]
    return torch.optim.AdamW(described, betas=(0.9, 0.98), weight_decay=0.01)


def _first(scores: Tensor, positives: Tensor, ignored: Tensor) -> Tensor:
    shown = scores.clone()
    shown[ignored[0], ignored[1]] = -torch.inf
    answers = torch.zeros_like(scores, dtype=torch.bool)
    answers[positives[0], positives[1]] = True
    return answers.gather(1, shown.argmax(1, keepdim=True)).float().mean()
