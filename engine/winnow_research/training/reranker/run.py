"""`winnow train reranker`: lists of the first stage, then training, within so many minutes together."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from winnow_engine.encoder.profiles import shipped_profile
from winnow_research.calibration.profile_writing import fingerprint_of
from winnow_research.errors import TrainingError
from winnow_research.training.dataset import Dataset, Rows
from winnow_research.training.processes import device_of_process, team
from winnow_research.training.reranker.lists import ListRecipe, Lists, lists_of
from winnow_research.training.reranker.trainer import RerankerRecipe, RerankerTrainer, new_reranker

_ROWS = ("units", "scores")


def train_reranker(
    drafter: Path,
    data: Dataset,
    out: Path,
    lists: ListRecipe,
    recipe: RerankerRecipe,
    minutes: float,
    say: Callable[[str], None],
    adapter: Path | None = None,
    model: Path | None = None,
) -> None:
    """Write the reranker `out` and its record beside it (JSON), within so many minutes from now.

    The reranker has the layers of `model`, which has the drafter's vocabulary, else those of the drafter. The first
    stage is `adapter`, else the one that ships. `out`.lists and `out`.checkpoint are written on the way; where they
    exist, work resumes there. Raises TrainingError for a checkpoint of another recipe, and the drafter's errors.
    """
    started, device, processes = time.monotonic(), device_of_process(), team()
    torch.set_float32_matmul_precision("high")

    def told(text: str) -> None:
        if processes.leads:
            say(f"{time.monotonic() - started:.0f} s: {text}")

    kept = out.with_suffix(".lists")
    if kept.is_file():
        listed = load(kept)
    else:
        listed = lists_of(drafter, adapter or shipped_adapter(drafter), data, lists, device, told)
        if processes.leads:
            save(listed, kept)
    told(f"{len(listed):,} questions have lists")
    reranker = new_reranker(model or drafter, recipe, device)
    trainer = RerankerTrainer(reranker, data, listed, recipe)
    told("training begins")
    steps = trainer.run(60 * minutes - (time.monotonic() - started), told, out.with_suffix(".checkpoint"))
    if not processes.leads:
        return
    reranker.save(out)
    record = {"recipe": asdict(recipe), "lists": asdict(lists), "steps": steps}
    out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    told(f"wrote {out}")


def shipped_adapter(drafter: Path) -> Path:
    """The adapter that ships for a drafter. TrainingError if none does."""
    shipped = shipped_profile(fingerprint_of(drafter))
    if shipped is None or shipped.adapter is None:
        raise TrainingError(f"no adapter ships for {drafter.name}: name one with --adapter")
    return shipped.adapter


def save(lists: Lists, path: Path) -> None:
    """Write lists to one file."""
    arrays = {name: getattr(lists, name) for name in ("questions", "leading", "bare")}
    for name in _ROWS:
        rows = getattr(lists, name)
        arrays |= {name: rows.values, f"{name}.offsets": rows.offsets}
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load(path: Path) -> Lists:
    """Read what `save` wrote."""
    with np.load(path, allow_pickle=False) as file:
        units, scores = (Rows(file[name], file[f"{name}.offsets"]) for name in _ROWS)
        return Lists(file["questions"], units, file["leading"], scores, file["bare"])
