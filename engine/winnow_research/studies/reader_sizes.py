"""How large should a joint reader be, and is it enough to train low-rank updates of it?

Readers of several kinds are trained on the same lists for as long each (PyTorch and a GPU are needed). No question is
asked twice in that time, so how a reader ranks each batch before it learns from it says what it would do with new
ones. Each reader but the one whose weights are all trained is also written, for `joint_reader read` and `compare`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_research.machine import report
from winnow_research.studies import study_parser
from winnow_research.training.dataset import Dataset
from winnow_research.training.processes import device_of_process
from winnow_research.training.reader import run
from winnow_research.training.reader.lists import ListRecipe, Lists, lists_of
from winnow_research.training.reader.trainer import ReaderRecipe, ReaderTrainer, new_reader, reader_batch

_KINDS = {
    "8": ReaderRecipe(layers=8, rank=16),
    "12": ReaderRecipe(layers=12, rank=16),
    "24": ReaderRecipe(rank=16),
    "24-rank-64": ReaderRecipe(rank=64),
    "12-all-weights": ReaderRecipe(layers=12, rank=1, learning_rate=3e-5),
    "24-all-weights": ReaderRecipe(rank=1, learning_rate=3e-5),
}
_READ = 16_000  # tokens


def trained(kind: str, data: Dataset, lists: Lists, drafter: Path, seconds: float, folder: Path) -> dict[str, Any]:
    """A kind's figures; its reader is written into `folder`."""
    recipe, device = _KINDS[kind], device_of_process()
    reader = new_reader(drafter, replace(recipe, steps=10**6), device)
    whole = kind.endswith("all-weights")
    if whole:
        reader.network.train_all()
    trainer = ReaderTrainer(reader, data, lists, data.headers[0][:1], recipe)
    told = trainer.run(seconds, print)
    late = told[-len(told) // 3 :]
    if not whole:
        reader.save(folder / f"{kind}.safetensors")
    means = {
        name: round(statistics.fmean(each[name] for each in late), 4)
        for name in ("loss", "rank", "first stage's loss", "first stage's rank")
    }
    return {"kind": kind, "steps": told[-1]["step"], "tokens": told[-1]["tokens"], **means} | _reading(trainer, recipe)


@torch.no_grad()
def _reading(trainer: ReaderTrainer, recipe: ReaderRecipe) -> dict[str, Any]:
    """Median milliseconds of the network over `_READ` tokens."""
    reader = trainer._reader
    count = _READ // recipe.segment_tokens // recipe.segments
    examples = [trainer._chooser.example(row, (1, 0)) for row in range(count)]
    batch = reader_batch(examples, replace(recipe, questions=count), reader.device)
    times = []
    for _ in range(12):
        started = time.perf_counter()
        reader(batch.read).sum().item()
        times.append(time.perf_counter() - started)
    return {"ms": round(1000 * statistics.median(times[2:]), 1)}


def main() -> None:
    """Train them in turn, print and write results/reader_sizes.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("data", type=Path, help="what `winnow train prepare` wrote, or `join`")
    parser.add_argument("folder", type=Path, help="for lists and readers")
    parser.add_argument("--kind", action="append", choices=list(_KINDS), help="[all]")
    parser.add_argument("--seconds", type=float, default=150.0, help="that each is trained")
    given: argparse.Namespace = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    given.folder.mkdir(parents=True, exist_ok=True)
    data, drafter, kept = Dataset.load(given.data), locate(DEFAULT_DRAFTER), given.folder / "reader.lists"
    if not kept.is_file():
        made = lists_of(drafter, run.shipped_adapter(drafter), data, ListRecipe(), device_of_process(), print)
        run.save(made, kept)
    lists = run.load(kept)
    figures = []
    for kind in given.kind or _KINDS:
        figures.append(trained(kind, data, lists, drafter, given.seconds, given.folder))
        report("reader_sizes", {"figures": figures})


if __name__ == "__main__":
    main()
