"""Training of a draft on what the target reads and chooses in texts, most of which it wrote itself."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from winnow_engine.targets.drafts.block_file import BlockShape
from winnow_engine.targets.drafts.block_memory import FIRST, WINDOW
from winnow_research.training.draft.muon import Muon
from winnow_research.training.draft.network import DraftNetwork
from winnow_research.training.draft.read import ReadTexts
from winnow_research.training.qwen2 import Qwen2, padded

Ids = NDArray[np.int32]
Say = Callable[[str], None]

_TOLD = 1_000  # steps from one report to the next


@dataclass(frozen=True, slots=True)
class DraftRecipe:
    """How a draft is trained."""

    layers: int = 4
    answers: int = 20_000  # texts that the target writes
    judged: int = 192  # and those of the development split
    steps: int = 8_000
    answer_tokens: int = 256
    sampled: float = 0.3  # share of the answers that is drawn at random
    temperature: float = 0.7
    batch_rows: int = 24_576  # of texts and blocks
    anchors: int = 48  # blocks in a text
    matrix_lr: float = 0.02
    other_lr: float = 1e-3
    decay: float = 6.0  # places after which a guess weighs 1/e
    prompt_weight: float = 0.3  # of the first place behind a token that the target did not write
    kept_gb: float = 42.0  # of what the target read in texts, instead of reading them again
    seed: int = 0


@dataclass(frozen=True, slots=True)
class DraftText:
    """Tokens, of which those from `answer` on were written by the target."""

    ids: Ids
    answer: int

    @property
    def places(self) -> NDArray[np.int64]:
        """The tokens that the draft has rows of: those that the product has it read before an answer, and the answer's.

        The last token has none, since none follows it.
        """
        places = np.arange(len(self.ids) - 1)
        return np.concatenate([places[:FIRST], places[max(FIRST, self.answer - WINDOW) :]])


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a batch of texts at the draft's rows, padded at the end."""

    rows: Tensor
    """[B, R, width]"""
    following: Tensor
    """int64 [B, R]: the tokens that follow."""
    choices: Tensor
    """int64 [B, R]: what the target takes behind these."""
    lengths: Tensor
    """int64 [B]"""


def frequent(texts: Sequence[DraftText], size: int, always: Sequence[int], of: int) -> Ids:
    """The `size` most frequent tokens, in order of their ids; those in answers count tenfold."""
    counts = np.zeros(of, np.int64)
    for text in texts:
        counts += np.bincount(text.ids, minlength=of)
        counts += 9 * np.bincount(text.ids[text.answer :], minlength=of)
    counts[list(always)] = counts.max() + 1
    return np.sort(np.argsort(-counts, kind="stable")[:size]).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Sitting:
    """What one run of the training may take: no more than `seconds`, and whether it is the last one.

    The learning rate falls over the second half of the last sitting.
    """

    seconds: float = math.inf
    last: bool = True


class DraftTrainer:
    """A draft in training."""

    def __init__(self, target: Qwen2, shape: BlockShape, tokens: Ids, recipe: DraftRecipe) -> None:
        """`tokens` are the draft's vocabulary."""
        self._target, self._recipe, self._device = target, recipe, target.device
        kept = torch.from_numpy(tokens.astype(np.int64)).to(self._device)
        self.network = DraftNetwork(shape, target.head[kept], target.output_norm).to(self._device)
        if self._device.type == "cuda":
            for layer in self.network.layers:
                layer.compile(dynamic=True)  # a step of two layers takes 37 ms instead of 47 on an H100
        self._short = torch.full((len(target.head),), shape.vocabulary, device=self._device)
        self._short[kept] = torch.arange(len(kept), device=self._device)
        matrices = [p for name, p in self.network.named_parameters() if _is_matrix(name)]
        others = [p for name, p in self.network.named_parameters() if not _is_matrix(name)]
        self._optimisers = [Muon(matrices, recipe.matrix_lr), torch.optim.Adam(others, recipe.other_lr, (0.9, 0.98))]
        self._read = ReadTexts(target, shape.layers_read, recipe.kept_gb)
        self.losses: list[float] = []
        self.curve: list[dict[str, object]] = []
        self.seconds = 0.0

    def train(
        self,
        texts: Sequence[DraftText],
        judged: Sequence[DraftText],
        say: Say,
        sitting: Sitting | None = None,
        keep: Callable[[dict[str, Any]], None] = lambda state: None,
    ) -> None:
        """Train on all texts in turn, until the recipe's steps are taken or the sitting is over.

        `keep` is given the state after every report, so that a run that dies can go on from there.
        """
        sitting = sitting or Sitting()
        first, before, started = len(self.losses), self.seconds, time.perf_counter()
        steps = self._recipe.steps - first
        rng = np.random.default_rng([self._recipe.seed, first])
        batches = self._batches(texts, np.random.default_rng(self._recipe.seed))
        losses: list[Tensor] = []
        for number in self._order(len(batches), rng):
            passed = time.perf_counter() - started
            self.seconds = before + passed
            left = 1 - max(passed / sitting.seconds, len(losses) / steps if steps > 0 else 1.0)
            if left <= 0:
                break
            self._set_rates(first + len(losses), min(1.0, max(0.02, 2 * left)) if sitting.last else 1.0)
            losses.append(self._step(batches[number], number, rng))
            if len(losses) % _TOLD == 0:
                self._tell(first + len(losses), losses[-1], judged, say)
                self.losses += [round(float(loss), 4) for loss in losses[len(self.losses) - first :]]
                keep(self.state())
        self.losses += [round(float(loss), 4) for loss in losses[len(self.losses) - first :]]

    def _order(self, count: int, rng: np.random.Generator) -> Iterator[int]:
        while True:
            yield from rng.permutation(count).tolist()

    def _step(self, batch: Sequence[DraftText], number: int, rng: np.random.Generator) -> Tensor:
        loss = self._loss(batch, number, rng)
        for optimiser in self._optimisers:
            optimiser.zero_grad(set_to_none=True)
        loss.backward()
        for optimiser in self._optimisers:
            optimiser.step()
        return loss.detach()

    def _tell(self, step: int, loss: Tensor, judged: Sequence[DraftText], say: Say) -> None:
        point = {"step": step, "seconds": round(self.seconds, 1), "loss": round(float(loss), 3)} | self.judge(judged)
        self.curve.append(point)
        say(json.dumps(point))

    def state(self) -> dict[str, Any]:
        """All that `resume` needs."""
        return {
            "network": self.network.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self._optimisers],
            "losses": self.losses,
            "curve": self.curve,
            "seconds": self.seconds,
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.network.load_state_dict(state["network"])
        for optimiser, stored in zip(self._optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(stored)
        self.losses, self.curve, self.seconds = state["losses"], state["curve"], state["seconds"]

    @torch.no_grad()
    def judge(self, texts: Sequence[DraftText]) -> dict[str, object]:
        """Tokens a pass and how often each place is right, all before it being right, in chains behind the answers."""
        rng = np.random.default_rng(1)
        whole = np.concatenate([self._chains(batch, rng) for batch in self._batches(texts, rng)]).cumprod(1)
        reached = np.concatenate([np.ones(1), whole.mean(0)])
        places = [round(float(after / before), 3) if before else 0.0 for before, after in pairwise(reached)]
        tokens = {
            f"block {n}": round(1 + float(whole[:, :n].sum(1).mean()), 2) for n in (1, 3, 7, 15) if n <= whole.shape[1]
        }
        return {"tokens a pass": tokens, "right by place": places}

    def _set_rates(self, step: int, factor: float) -> None:
        """Rise over the first 30 steps of all; otherwise the recipe's rates times `factor`."""
        factor *= min(1.0, (step + 1) / 30)
        for optimiser, rate in zip(self._optimisers, (self._recipe.matrix_lr, self._recipe.other_lr), strict=True):
            optimiser.param_groups[0]["lr"] = rate * factor

    def _batches(self, texts: Sequence[DraftText], rng: np.random.Generator) -> list[list[DraftText]]:
        """Texts of about equal length together."""
        order = sorted(range(len(texts)), key=lambda n: len(texts[n].ids) * (1 + 0.1 * rng.random()))
        blocks = self._recipe.anchors * (self.network.shape.block - 1)
        batches: list[list[DraftText]] = [[]]
        longest = 0
        for text in (texts[number] for number in order):
            rows = len(text.places)
            longest = max(longest, rows)
            if batches[-1] and (len(batches[-1]) + 1) * (longest + blocks) > self._recipe.batch_rows:
                batches.append([])
                longest = rows
            batches[-1].append(text)
        return batches

    def _known(self, batch: Sequence[DraftText], number: int | None) -> Known:
        """What is known of a batch. What the target reads in the batch `number` is kept."""
        ids = torch.from_numpy(padded([text.ids for text in batch])).to(self._device)
        own = [text.places for text in batch]
        places = torch.from_numpy(padded(own)).to(self._device)
        features, choices = self._read.read(ids, places, number)
        following = ids.gather(1, places + 1)
        rows = self.network.rows(features, self._target.embedding[following])
        lengths = torch.tensor([len(each) for each in own], device=self._device)
        return Known(rows, following, choices, lengths)

    def _anchors(self, batch: Sequence[DraftText], rng: np.random.Generator, everywhere: float) -> Tensor:
        """Rows with blocks behind them, int64 [B, anchors]: most in answers, a share of `everywhere` anywhere."""
        count = self._recipe.anchors
        found = np.zeros((len(batch), count), np.int64)
        for row, text in enumerate(batch):
            last = len(text.places) - 1
            first = min(max(0, last - (len(text.ids) - text.answer)), last - 1)
            found[row] = rng.integers(first, last, count)
            anywhere = rng.random(count) < everywhere
            found[row][anywhere] = rng.integers(min(FIRST, first), last, count)[anywhere]
        return torch.from_numpy(np.sort(found, 1)).to(self._device)

    def _wanted(self, known: Known, anchors: Tensor) -> tuple[Tensor, Tensor]:
        """The target's choices at each place of blocks [B, A, block], -1 behind the first that the text left."""
        at = anchors[..., None] + torch.arange(self.network.shape.block, device=self._device)
        inside = at < known.lengths[:, None, None]
        last = known.following.shape[1] - 1
        chosen, before, after = (
            values.gather(1, (at + further).clamp(max=last).flatten(1)).view_as(at)
            for values, further in ((known.choices, 0), (known.following, 0), (known.following, 1))
        )
        stayed = torch.cat([torch.ones_like(inside[..., :1]), (chosen == after)[..., :-1]], -1).cumprod(-1).bool()
        return torch.where(inside & stayed, chosen, -1), before

    def _guessed(
        self, batch: Sequence[DraftText], number: int | None, anchors: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Known]:
        """Hidden states of blocks [B, A, block, width], the choices wanted and the tokens before; those of all rows."""
        known = self._known(batch, number)
        wanted, before = self._wanted(known, anchors)
        text, blocks = self.network(known.rows, anchors)
        first = text.gather(1, anchors[..., None].expand(-1, -1, text.shape[-1]))[:, :, None]
        return torch.cat([first, blocks], 2), wanted, before, text, known

    def _loss(self, batch: Sequence[DraftText], number: int, rng: np.random.Generator) -> Tensor:
        anchors = self._anchors(batch, rng, 0.25)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            hidden, wanted, before, text, known = self._guessed(batch, number, anchors)
            place = torch.arange(wanted.shape[2], device=self._device, dtype=torch.float32)
            weight = torch.exp(-place / self._recipe.decay).expand(wanted.shape)
            label = torch.where(wanted >= 0, self._short[wanted.clamp(min=0)], self.network.shape.vocabulary)
            good = label < self.network.shape.vocabulary
            logits = self.network.logits(hidden[good], self._short[before[good]])
            first = self._first(batch, text, known)
        losses = functional.cross_entropy(logits.float(), label[good], reduction="none")
        return (losses * weight[good]).sum() / weight[good].sum() + first

    def _first(self, batch: Sequence[DraftText], text: Tensor, known: Known) -> Tensor:
        """The mean loss of the first place behind every row of the texts."""
        label = self._short[known.choices]
        answers = torch.tensor([len(one.ids) - one.answer for one in batch], device=self._device)
        at = torch.arange(label.shape[1], device=self._device)
        good = (at < known.lengths[:, None]) & (label < self.network.shape.vocabulary)
        weight = torch.where(at >= (known.lengths - 1 - answers)[:, None], 1.0, self._recipe.prompt_weight)[good]
        logits = self.network.logits(text[good], self._short[known.following[good]])
        losses = functional.cross_entropy(logits.float(), label[good], reduction="none")
        return (losses * weight).sum() / weight.sum()

    def _chains(self, batch: Sequence[DraftText], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Whether each place of blocks behind answers is right, [blocks, block]; only blocks within the text count."""
        anchors = self._anchors(batch, rng, 0.0)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            hidden, wanted, before, _, known = self._guessed(batch, None, anchors)
            previous = self._short[before[:, :, 0]].flatten()
            right = []
            for place in range(wanted.shape[2]):
                previous = self.network.logits(hidden[:, :, place].flatten(0, 1), previous).argmax(1)
                right.append(previous == self._short[wanted[:, :, place].clamp(min=0)].flatten())
        inside = (anchors + wanted.shape[2] < known.lengths[:, None]).flatten()
        right_places = torch.stack(right, 1) & (wanted >= 0).flatten(0, 1)
        return right_places[inside].cpu().numpy()


def _is_matrix(name: str) -> bool:
    return name == "fuse" or name.rsplit(".", 1)[-1] in ("q", "k", "v", "output", "gate", "up", "down")
