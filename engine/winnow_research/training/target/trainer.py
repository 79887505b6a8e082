"""Two stages: written answers are learnt; then right ones of the model's own are preferred to wrong ones (DPO)."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from winnow_cuda.shapes import Int32
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.evaluation.answers.explaining import REFUSAL, says
from winnow_research.training.qwen2 import padded
from winnow_research.training.target.examples import TaughtExample
from winnow_research.training.target.low_rank import ALL, ATTENTION, TaughtQwen2
from winnow_research.training.writing import continued

_BATCH, _PAIRS = 16, 4  # examples of an update; pairs that are read together
_TOGETHER = 24_000  # tokens that are read together
_WARM_UP, _LEAST = 15, 0.05
_OWN_TOKENS, _SAMPLED_TOKENS = 400, 220
_SAMPLES, _TEMPERATURE = 4, 0.9
_BETA, _ANCHOR = 0.1, 0.15  # of DPO (Rafailov et al. 2023, eq. 7); share of the right answer's own likelihood
Row = TypeVar("Row")
Say: TypeAlias = Callable[[str], None]
_NAME = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class TaughtRecipe:
    """What a run depends on besides the examples."""

    epochs: int = 2
    rate: float = 2e-4
    preferred_rate: float = 3e-5
    most_pairs: int = 1_100
    seconds: float = 170.0
    """Of each stage, after which it ends."""
    rank: int = 16
    all_matrices: bool = True
    preferring: bool = False


class TargetTrainer:
    """Trains the update of a model."""

    def __init__(self, model: TaughtQwen2, vocabulary: Vocabulary, recipe: TaughtRecipe, say: Say) -> None:
        self._model, self._vocabulary, self._recipe, self._say = model, vocabulary, recipe, say
        self._ends = [n for n in range(len(model.head)) if vocabulary.is_end(n)]

    def learn(self, examples: Sequence[TaughtExample]) -> None:
        """Learn the answers of all examples; of those without one, the model's own at the start."""
        own = [one for one in examples if one.answer is None]
        answers = self._written([one.prompt for one in own], _OWN_TOKENS, 0.0)
        told = [replace(one, answer=said) for one, said in zip(own, answers, strict=True) if said[-1] in self._ends]
        rows = [(one.prompt, one.answer) for one in (*examples, *told) if one.answer is not None]
        self._update(rows, self._recipe.rate, self._likelihood)

    def prefer(self, examples: Sequence[TaughtExample]) -> None:
        """Prefer answers by which `right` goes to others, of `_SAMPLES` that are drawn for each question."""
        asked = [one for one in examples if one.kind in ("answer", "refusal")]
        drawn = self._written([one.prompt for one in asked for _ in range(_SAMPLES)], _SAMPLED_TOKENS, _TEMPERATURE)
        pairs: list[tuple[Int32, Int32, Int32]] = []
        for number, one in enumerate(asked):
            some = drawn[number * _SAMPLES : (number + 1) * _SAMPLES]
            good = [said for said in some if said[-1] in self._ends and right(one, self._vocabulary.text(said))]
            bad = [said for said in some if not any(said is other for other in good)]
            if bad and one.answer is not None:
                pairs.append((one.prompt, good[0] if good else one.answer, bad[0]))
        random.Random(0).shuffle(pairs)
        pairs = pairs[: self._recipe.most_pairs]
        with torch.no_grad():
            before = [self._chances(pairs[at : at + _PAIRS]) for at in range(0, len(pairs), _PAIRS)]
        rows = list(zip(pairs, torch.cat(before), strict=True))
        self._update(rows, self._recipe.preferred_rate, self._preference)

    def _update(self, rows: Sequence[Row], rate: float, loss_of: Callable[[list[Row]], Tensor]) -> None:
        parts = [part for pair in self._model.updates.values() for part in pair]
        optimiser = torch.optim.AdamW(parts, lr=rate, betas=(0.9, 0.99), weight_decay=0.0)
        begun, rng, steps = time.perf_counter(), random.Random(0), self._recipe.epochs * max(1, len(rows) // _BATCH)
        for step in range(steps):
            done = max(step / steps, (time.perf_counter() - begun) / self._recipe.seconds)
            if done >= 1:
                break
            share = min(1.0, (step + 1) / _WARM_UP) * (_LEAST + (1 - _LEAST) * (1 + math.cos(math.pi * done)) / 2)
            optimiser.param_groups[0]["lr"] = rate * share
            loss = loss_of(rng.sample(list(rows), min(_BATCH, len(rows))))
            torch.nn.utils.clip_grad_norm_(parts, 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            if step % 20 == 0:
                self._say(f"update {step:,} of {steps:,}, loss {float(loss):.3f}")

    def _likelihood(self, rows: list[tuple[Int32, Int32]]) -> Tensor:
        tokens, total = sum(len(answer) for _, answer in rows), torch.zeros(())
        for some in _fitting(rows):
            loss = -self._log_chances(some).sum() / tokens
            loss.backward()
            total += loss.detach().cpu()
        return total

    def _preference(self, rows: list[tuple[tuple[Int32, Int32, Int32], Tensor]]) -> Tensor:
        total = torch.zeros(())
        for at in range(0, len(rows), _PAIRS):
            some = rows[at : at + _PAIRS]
            now = self._chances([pair for pair, _ in some])
            gain = (now - torch.stack([before for _, before in some])) * _BETA
            lengths = torch.tensor([len(good) for (_, good, _), _ in some], device=now.device)
            loss = -functional.logsigmoid(gain[:, 0] - gain[:, 1]) - _ANCHOR * now[:, 0] / lengths
            (loss.sum() / len(rows)).backward()
            total += loss.detach().sum().cpu() / len(rows)
        return total

    def _chances(self, pairs: Sequence[tuple[Int32, Int32, Int32]]) -> Tensor:
        return self._log_chances([(prompt, one) for prompt, *both in pairs for one in both]).view(-1, 2)

    def _log_chances(self, rows: Sequence[tuple[Int32, Int32]]) -> Tensor:
        """The log-likelihood of each answer behind its prompt, float32 [rows]."""
        ids = torch.from_numpy(padded([np.concatenate(row) for row in rows])).to(self._model.device)
        hidden = self._model.hidden(ids)
        read = [hidden[n, len(p) - 1 : len(p) + len(a) - 1] for n, (p, a) in enumerate(rows)]
        wanted = [ids[n, len(p) : len(p) + len(a)] for n, (p, a) in enumerate(rows)]
        chances = -functional.cross_entropy(
            self._model.logits(torch.cat(read)).float(), torch.cat(wanted), reduction="none"
        )
        return torch.stack([part.sum() for part in chances.split([len(answer) for _, answer in rows])])

    def _written(self, prompts: Sequence[Int32], most: int, temperature: float) -> list[Int32]:
        return continued(self._model, prompts, most, [temperature] * len(prompts), self._ends)


def right(example: TaughtExample, text: str) -> bool:
    """Whether an answer says all facts, or refuses where it should, with no name in code form that is not shown."""
    parts = (part for name in _NAME.findall(text) for part in re.split(r"\W+", name) if len(part) > 2)
    if not all(part in example.shown for part in parts):
        return False
    refused = REFUSAL.search(text) is not None
    return refused if not example.facts else not refused and all(says(text, forms) for forms in example.facts)


def _fitting(rows: Sequence[tuple[Int32, Int32]]) -> Iterator[list[tuple[Int32, Int32]]]:
    """Rows that can be read together, the shortest first."""
    some: list[tuple[Int32, Int32]] = []
    for row in sorted(rows, key=lambda row: len(row[0]) + len(row[1])):
        if some and (len(some) + 1) * (len(row[0]) + len(row[1])) > _TOGETHER:
            yield some
            some = []
        some.append(row)
    yield some


def teach(
    target: Path, examples: Sequence[TaughtExample], vocabulary: Vocabulary, out: Path, recipe: TaughtRecipe, say: Say
) -> None:
    """Train an update and write it to `out`, a GGUF. Raises the target's errors."""
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = TaughtQwen2(target, device, recipe.rank, ALL if recipe.all_matrices else ATTENTION)
    trainer = TargetTrainer(model, vocabulary, recipe, say)
    trainer.learn(examples)
    if recipe.preferring:
        trainer.prefer(examples)
    model.save(out)
