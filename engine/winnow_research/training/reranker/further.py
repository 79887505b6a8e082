"""Trains a reranker further on questions as the product answers them, from what `judge record` wrote.

Lists of the training projects (`run`) teach a reranker to tell a gold from what misleads. Here it learns what counts in
the end: that the golds stand above all else by the first stage's scores and its own together, of a list by those of all
its parts, both with regard to the units' size, as a budget is filled, and without.
"""

from __future__ import annotations

import pickle
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor
from torch.nn import functional

from winnow_cuda.shapes import Int32, Int64
from winnow_engine.encoder.template import Template
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.gguf_header import read_header
from winnow_engine.reranker.file import read_reranker
from winnow_engine.reranker.layout import RerankerSegment
from winnow_engine.runtime import mapped_ahead
from winnow_engine.selection.budget import density
from winnow_research.errors import TrainingError
from winnow_research.training.processes import device_of_process
from winnow_research.training.reranker.choosing import fitting
from winnow_research.training.reranker.judging import WAYS, Record
from winnow_research.training.reranker.model import ReadBatch, batch_of
from winnow_research.training.reranker.trainer import RerankerRecipe, new_reranker, optimiser_of
from winnow_research.training.schedule import cosine, set_rates

SHARES = {
    "real": 42,
    "multi": 17,
    "describe": 13,
    "languages": 7,
    "bug": 7,
    "phrase": 5,
    "doc": 3,
    "usage": 3,
    "cursor": 3,
}
"""How often a question is of a task, in percent. Without *describe* and *multi* lists of descriptions are forgotten."""

_QUESTIONS, _BATCHES, _SEGMENTS, _SEGMENT_TOKENS = 4, 2, 4, 2_048  # in a batch, a step, of a question
_WARM_UP, _CLIP, _AHEAD = 20, 1.0, 8
_LEADS_OFTENER = 4  # times as often as the rest are those units shown that lead
_EXPONENTS = (0.0, 0.8)  # of the units' tokens

Example = tuple[Record, list[Int64]]
"""A question, and by part the places of the units that are shown of it."""


def train_further(
    records: Path, start: Path, model: Path, out: Path, minutes: float, rate: float, say: Callable[[str], None]
) -> None:
    """Train the reranker `start`, of `model`'s layers, for so many minutes and write `out`.

    One GPU of 100 GiB. TrainingError if no question can be learned from; the errors of `start` and `model`.
    """
    file = read_reranker(start, read_header(model))
    recipe = RerankerRecipe(layers=file.layers, rank=file.updates.rank, learning_rate=rate)
    device = device_of_process()
    torch.set_float32_matmul_precision("high")
    reranker = new_reranker(model, recipe, device)
    reranker.load(start)
    prefix = Template(Vocabulary(LlamaModel(model, vocabulary_only=True))).prefix
    by_task = _by_task(pickle.loads(records.read_bytes()))
    say(str({task: len(found) for task, found in by_task.items()}))
    optimiser, seconds, started = optimiser_of(reranker, recipe), 60 * minutes, time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        making = mapped_ahead(pool, lambda some: _batch(*some, prefix, device), _batches(by_task), _AHEAD)
        losses: list[Tensor] = []
        for number, (_, (read, examples)) in enumerate(making):
            step, part = divmod(number, _BATCHES)
            passed = (time.monotonic() - started) / seconds
            if part == 0:
                if passed >= 1:
                    break
                set_rates(optimiser, cosine(step, 1 << 30, _WARM_UP, passed))
                optimiser.zero_grad(set_to_none=True)
            loss = loss_of(reranker(read), examples)
            (loss / _BATCHES).backward()
            losses.append(loss.detach())
            if part == _BATCHES - 1:
                torch.nn.utils.clip_grad_norm_(list(reranker.parameters()), _CLIP)
                optimiser.step()
            if len(losses) == 20 * _BATCHES:
                say(f"step {step + 1}: loss {torch.stack(losses).mean().item():.3f}")
                losses = []
    reranker.save(out)
    say(f"wrote {out}")


def loss_of(said: Tensor, examples: Sequence[Example]) -> Tensor:
    """The mean over questions of −log(e^g / (e^g + Σ e^u)), g a gold's score, u those of all units but golds.

    `said` float32 [units]: what the reranker says of the units shown, question after question, part after part.
    """
    at, total = 0, said.new_zeros(())
    for record, shown in examples:
        added = []
        for places in shown:
            own = said[at : at + len(places)]
            at += len(places)
            centred = own - own.mean() if len(places) else own
            zeros = said.new_zeros(len(record.total))
            added.append(zeros.index_add(0, torch.from_numpy(places).to(said.device), centred))
        known = np.isfinite(record.total)
        score = _tensor(np.where(known, record.total, 0), said) + (
            added[0] if record.log_shares is None else _gained(_tensor(record.log_shares, said), torch.stack(added))
        )
        golds = np.intersect1d(record.golds, np.concatenate(shown))
        known[[*record.golds[record.golds >= 0], *record.focus, *record.companions]] = False
        others, gold = (torch.from_numpy(part).to(said.device) for part in (np.flatnonzero(known), golds))
        for exponent in _EXPONENTS:
            value = score + _tensor(density(np.zeros_like(record.total), record.tokens, exponent), said)
            misses = functional.softplus(torch.logsumexp(value[others], 0) - value[gold])
            total = total + misses.mean() / len(_EXPONENTS)
    return total / len(examples)


def _gained(log_shares: Tensor, added: Tensor) -> Tensor:
    """`selection.fusion.gained`, with a gradient."""
    log_shares = log_shares.clamp_min(-60)
    rises = log_shares[1:] + added
    others = (1 - log_shares[1:].double().exp().sum(1)).clamp_min(1e-300)
    in_all = torch.logaddexp(torch.logsumexp(rises.double(), 1), others.log())
    after = torch.logsumexp(rises - in_all[:, None].float(), 0)
    return torch.logaddexp(log_shares[0], after) - torch.logsumexp(log_shares, 0)


def _tensor(values: np.ndarray, like: Tensor) -> Tensor:
    return torch.from_numpy(np.asarray(values, np.float32)).to(like.device)


def _by_task(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The questions that can be learned from: some gold of theirs is read."""
    found: dict[str, list[Record]] = defaultdict(list)
    for one in records:
        if one.task in SHARES and np.isin(one.golds, np.concatenate(one.ways[WAYS[0]])).any():
            found[one.task].append(one)
    if not found:
        raise TrainingError("no recorded question has a gold among what is read: record with this adapter again")
    return dict(found)


def _batches(by_task: Mapping[str, Sequence[Record]]) -> Iterator[tuple[list[Record], int]]:
    """The questions of each batch, by the shares of their tasks, and a seed."""
    rng = np.random.default_rng(0)
    tasks = list(by_task)
    shares = np.array([SHARES[task] for task in tasks], float)
    waiting: dict[str, list[int]] = {task: [] for task in tasks}
    for seed in range(1 << 30):
        batch = []
        for task in rng.choice(tasks, _QUESTIONS, p=shares / shares.sum()).tolist():
            waiting[task] = waiting[task] or rng.permutation(len(by_task[task])).tolist()
            batch.append(by_task[task][waiting[task].pop()])
        yield batch, seed


def _batch(
    records: Sequence[Record], seed: int, prefix: Int32, device: torch.device
) -> tuple[ReadBatch, list[Example]]:
    rng = np.random.default_rng(seed)
    made = [(record, _shown(record, prefix, rng)) for record in records]
    segments = [one for _, parts in made for laid, _ in parts for one in laid]
    read = batch_of(segments, _SEGMENT_TOKENS, max(len(segments), _QUESTIONS * _SEGMENTS), device)
    return read, [(record, [places for _, places in parts]) for record, parts in made]


def _shown(record: Record, prefix: Int32, rng: Generator) -> list[tuple[tuple[RerankerSegment, ...], Int64]]:
    """By part, segments of its golds and of units drawn from those read, and these units' places in ascending order."""
    most = _SEGMENTS if len(record.questions) == 1 else 1
    found = []
    for question, read in zip(record.questions, record.ways[WAYS[0]], strict=True):
        leads = np.argsort(np.argsort(-record.total[read])) < len(read) / 2
        drawn = np.log(np.where(leads, _LEADS_OFTENER, 1)) + rng.gumbel(size=len(read))
        drawn[np.isin(read, record.golds)] = np.inf
        order = read[np.argsort(-drawn, kind="stable")]
        found.append(fitting(order, record.texts, prefix, question, most, _SEGMENT_TOKENS))
    return found
