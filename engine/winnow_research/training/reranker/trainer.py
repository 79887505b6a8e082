"""Training of a reranker within a time limit, from lists of the first stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from winnow_engine.runtime import mapped_ahead
from winnow_research.training import checkpoint as checkpoints
from winnow_research.training.dataset import Dataset
from winnow_research.training.heads import loss_of
from winnow_research.training.processes import team
from winnow_research.training.reranker.choosing import Chooser, RerankerExample
from winnow_research.training.reranker.lists import Lists
from winnow_research.training.reranker.model import ReadBatch, TrainableReranker, batch_of
from winnow_research.training.schedule import cosine, set_rates

_WARM_UP = 30  # steps
_HEAD_FASTER, _SCALE_FASTER = 4.0, 20.0
_CLIP = 1.0
_AHEAD = 6  # batches that are made while others are learned from

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RerankerRecipe:
    """How a reranker is trained.

    A step adds up the gradients of `accumulate` batches of `questions` questions, each in `segments` segments. The
    learning rate falls with the steps or the time that have passed, whichever is further on.
    """

    layers: int = 24
    rank: int = 32
    steps: int = 1_000
    accumulate: int = 2
    questions: int = 8
    segments: int = 2
    segment_tokens: int = 2_048
    learning_rate: float = 3e-4
    seed: int = 0


@dataclass(frozen=True)
class RerankerBatch:
    """Several questions: what is read of them, and pairs of (question, unit) as `loss_of` wants them."""

    read: ReadBatch
    questions: int
    positives: Tensor
    ignored: Tensor
    first: Tensor  # [units, 2]


def reranker_batch(examples: Sequence[RerankerExample], recipe: RerankerRecipe, device: torch.device) -> RerankerBatch:
    """The examples together."""
    segments = [segment for example in examples for segment in example.segments]
    read = batch_of(segments, recipe.segment_tokens, recipe.segments * recipe.questions, device)
    counts = np.array([len(example.first) for example in examples])
    starts, owner = np.cumsum(counts) - counts, np.repeat(np.arange(len(examples)), counts)
    gold = [(row, start + unit) for row, start in enumerate(starts) for unit in examples[row].golds]
    others = np.stack(np.nonzero(owner[None] != np.arange(len(examples))[:, None]))
    first = torch.from_numpy(np.concatenate([example.first for example in examples])).to(device)
    positives, ignored = (torch.from_numpy(part.astype(np.int64)).to(device) for part in (np.array(gold).T, others))
    return RerankerBatch(read, len(examples), positives, ignored, first)


def new_reranker(model: Path, recipe: RerankerRecipe, device: torch.device) -> TrainableReranker:
    """An untrained reranker with the layers of a GGUF, on `device`. On a GPU the frozen layers compute in bfloat16."""
    torch.manual_seed(recipe.seed)
    reranker = TrainableReranker(model, recipe.layers, recipe.rank)
    if device.type == "cuda":
        reranker.network.compute_in(torch.bfloat16)
    return reranker.to(device)


def optimiser_of(reranker: TrainableReranker, recipe: RerankerRecipe) -> torch.optim.Optimizer:
    """An optimiser of what is trained, with the highest rates of the recipe."""
    head = reranker.head
    described = [
        {"params": list(reranker.network.parameters()), "peak": recipe.learning_rate},
        {"params": [head.votes], "peak": recipe.learning_rate * _HEAD_FASTER},
        {"params": [head.length], "peak": recipe.learning_rate * _SCALE_FASTER},
    ]
    return torch.optim.AdamW(described, lr=0.0, betas=(0.9, 0.98), weight_decay=0.01)


class RerankerTrainer:
    """Trains a reranker step by step. Under `torchrun`, each process takes its share of a step's batches."""

    def __init__(self, reranker: TrainableReranker, data: Dataset, lists: Lists, recipe: RerankerRecipe) -> None:
        """Raises TrainingError if there are more processes than a step has batches."""
        self._team = team()
        self._share = self._team.share(recipe.accumulate)
        self._reranker, self._recipe, self._lists = reranker, recipe, lists
        self._chooser = Chooser(data, lists, recipe.segments, recipe.segment_tokens)
        self._optimiser = optimiser_of(reranker, recipe)
        self._done, self._spent = 0, 0.0

    def run(self, seconds: float, say: Say, checkpoint: Path | None = None, every: int = 100) -> list[dict[str, Any]]:
        """Train for at most so many seconds, those before a `checkpoint` counted.

        Returns figures of every tenth step, over this process's batches.

        TrainingError for a checkpoint of another recipe.
        """
        if checkpoint is not None and checkpoint.is_file():
            self._resume(checkpoint)
        seconds, started = self._team.agreed(seconds), time.monotonic() - self._spent
        told, seen = [], []
        with ThreadPoolExecutor(1) as pool:
            for batches in self._steps(pool):
                passed = self._team.agreed(time.monotonic() - started)
                if self._done >= self._recipe.steps or passed >= seconds:
                    break
                if self._done == 0:
                    self._measure()
                seen.append(self._step(batches, passed / seconds))
                self._done += 1
                if self._done % 10 == 0 or self._done < 4:
                    told.append(self._told(torch.stack(seen).mean(0), time.monotonic() - started))
                    say(str(told[-1]))
                    seen = []
                if checkpoint is not None and self._team.leads and self._done % every == 0:
                    self._spent = time.monotonic() - started
                    self._save(checkpoint)
        return told

    def _told(self, means: Tensor, passed: float) -> dict[str, Any]:
        names = ("loss", "rank", "first stage's loss", "first stage's rank", "gradient")
        values = [round(value, 4) for value in means.tolist()]
        tokens = self._recipe.accumulate * self._recipe.questions * self._recipe.segments * self._recipe.segment_tokens
        memory = torch.cuda.max_memory_allocated() >> 20 if self._reranker.device.type == "cuda" else 0
        return {
            "step": self._done,
            **dict(zip(names, values, strict=True)),
            "seconds": round(passed, 1),
            "tokens": self._done * tokens,
            "MiB": memory,
        }

    def _steps(self, pool: ThreadPoolExecutor) -> Iterator[list[RerankerBatch]]:
        """This process's batches of each step, from the next one on, made ahead."""
        numbers = ((step, part) for step in range(self._done, self._recipe.steps) for part in self._share)
        batches: list[RerankerBatch] = []
        for _, batch in mapped_ahead(pool, lambda number: self._batch(*number), numbers, _AHEAD):
            batches.append(batch)
            if len(batches) == len(self._share):
                yield batches
                batches = []

    def _batch(self, step: int, part: int) -> RerankerBatch:
        """One of the batches of a step."""
        recipe = self._recipe
        size = recipe.questions * recipe.accumulate
        epoch, place = divmod(step, max(len(self._lists) // size, 1))
        first = place * size + part * recipe.questions
        rows = [row % len(self._lists) for row in range(first, first + recipe.questions)]
        examples = [self._chooser.example(row, (recipe.seed, epoch)) for row in rows]
        return reranker_batch(examples, recipe, self._reranker.device)

    @torch.no_grad()
    def _measure(self) -> None:
        """Measure the head's statistics on the first batch, with the untrained layers."""
        self._reranker.head.measure(self._reranker.hidden(self._batch(0, 0).read))

    def _step(self, batches: Sequence[RerankerBatch], passed: float) -> Tensor:
        """Make one update. Returns the means of what `_backward` returns, and the gradient's norm, [5]."""
        set_rates(self._optimiser, cosine(self._done, self._recipe.steps, _WARM_UP, passed))
        self._optimiser.zero_grad(set_to_none=True)
        results = torch.stack([self._backward(batch) for batch in batches]).mean(0)
        trained = list(self._reranker.parameters())
        self._team.add_up(trained)
        norm = torch.nn.utils.clip_grad_norm_(trained, _CLIP)
        self._optimiser.step()
        return torch.cat([results, norm.detach().reshape(1).float()])

    def _backward(self, batch: RerankerBatch) -> Tensor:
        """Add a batch's gradients. Returns loss and reciprocal rank, the reranker's and the first stage's: [4]."""
        scores = self._reranker(batch.read)
        loss = self._loss(scores, batch)
        (loss / self._recipe.accumulate).backward()
        with torch.no_grad():
            before = batch.first.sum(1)
            return torch.stack([loss, _rank(scores, batch), self._loss(before, batch), _rank(before, batch)]).detach()

    def _loss(self, scores: Tensor, batch: RerankerBatch) -> Tensor:
        return loss_of(scores.expand(batch.questions, -1), batch.positives, batch.ignored)

    def _save(self, path: Path) -> None:
        state = {
            "recipe": asdict(self._recipe),
            "step": self._done,
            "seconds": self._spent,
            "trained": {name: value.detach().cpu() for name, value in self._reranker.state_dict().items()},
            "optimiser": self._optimiser.state_dict(),
        }
        checkpoints.save(state, path)

    def _resume(self, path: Path) -> None:
        state = checkpoints.load(path, self._reranker.device, asdict(self._recipe))
        self._done, self._spent = state["step"], state["seconds"]
        self._optimiser.load_state_dict(state["optimiser"])
        self._reranker.load_state_dict(state["trained"], strict=False)


def _rank(scores: Tensor, batch: RerankerBatch) -> Tensor:
    """The mean reciprocal rank of each question's best gold among its units."""
    shown = scores.detach().expand(batch.questions, -1).clone()
    shown[batch.ignored[0], batch.ignored[1]] = -torch.inf
    golds = torch.full_like(shown, -torch.inf)
    golds[batch.positives[0], batch.positives[1]] = shown[batch.positives[0], batch.positives[1]]
    best = golds.amax(1, keepdim=True)
    return (1 / (1 + (shown > best).sum(1).float())).mean()
