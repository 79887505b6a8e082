"""Short trainings that each differ from the recipe in one thing, judged by what they keep on the development split.

`winnow train prepare` writes the data, `winnow train prepare --development` the development data. A variant may also be
a file: another data set, as `winnow train ask` writes them. On a GPU each takes about two minutes.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from winnow_cuda.shapes import Int32
from winnow_engine.drafter import segments
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_research.evaluation.figures import BUDGETS
from winnow_research.machine import report
from winnow_research.studies import study_parser
from winnow_research.training import drafter as trained_drafter
from winnow_research.training.batches import Mixture
from winnow_research.training.dataset import Dataset, rows
from winnow_research.training.drafter import TrainableDrafter
from winnow_research.training.processes import device_of_process
from winnow_research.training.recall import recall
from winnow_research.training.trainer import Step, Trainer, TrainingRecipe, new_model

_OUTLINE_TOKENS, _LINE_TOKENS = 256, 16
_SLOWER = 1 / 16  # of the learning rate, for weights of full rank


def unchanged(model: TrainableDrafter) -> TrainableDrafter:
    """The model as the recipe trains it."""
    return model


def full_rank(model: TrainableDrafter) -> TrainableDrafter:
    """The model with all weights of its layers trained."""
    model.network.train_all(_SLOWER)
    return model


def outlined(data: Dataset, vocabulary: Vocabulary) -> Dataset:
    """The data set with the first line of each unit in its file's header, behind the path."""
    return replace(data, headers=rows(_outlines(data, vocabulary), np.int32))


def _outlines(data: Dataset, vocabulary: Vocabulary) -> Iterator[Int32]:
    for file in range(len(data.headers)):
        units = range(int(data.file_units[file]), int(data.file_units[file + 1]))
        texts = (vocabulary.text(data.units[unit][:64].tolist()).strip().split("\n")[0] for unit in units)
        lines = [vocabulary.tokenize(f"{text}\n")[:_LINE_TOKENS] for text in texts if text]
        yield np.concatenate([data.headers[file], *lines])[: len(data.headers[file]) + _OUTLINE_TOKENS]


@contextmanager
def segments_of(tokens: int) -> Iterator[None]:
    """Cut files into segments of `tokens` tokens, and put questions behind a full one."""
    before = segments.SEGMENT_TOKENS
    for module in (segments, trained_drafter):
        vars(module)["SEGMENT_TOKENS"] = tokens
    try:
        yield
    finally:
        for module in (segments, trained_drafter):
            vars(module)["SEGMENT_TOKENS"] = before


def trained(
    drafter: Path,
    data: Dataset,
    judged: Dataset,
    recipe: TrainingRecipe,
    changed: Callable[[TrainableDrafter], TrainableDrafter],
) -> dict[str, Any]:
    """Train once: what both heads together keep, by kind of question, and the losses of the last steps."""
    started, steps = time.perf_counter(), list[Step]()
    model = changed(new_model(drafter, data, recipe, device_of_process()))
    Trainer(model, data, recipe).run(steps.append, None, recipe.steps)
    seconds = time.perf_counter() - started
    last = steps[-len(steps) // 5 :]
    losses = {head: round(float(np.mean([step.loss[head] for step in last])), 3) for head in last[0].loss}
    kept = {kind: shares for kind, shares in recall(model, judged)["both"].items() if "/" not in kind}
    return {"seconds": round(seconds, 1), "loss": losses, "kept": kept}


def variant(
    name: str, drafter: Path, data: Dataset, judged: Dataset, recipe: TrainingRecipe, vocabulary: Vocabulary
) -> dict[str, Any]:
    """Train the variant of that name."""
    what, _, value = name.partition("=")
    tokens, changed = segments.SEGMENT_TOKENS, unchanged
    if what in ("seed", "layers"):
        changes: dict[str, Any] = {what: int(value)}
        recipe = replace(recipe, **changes)
    elif what == "segment":
        tokens = int(value)
    elif what == "full":
        changed = full_rank
    elif what == "outline":
        data, judged = outlined(data, vocabulary), outlined(judged, vocabulary)
    elif what != "recipe":
        data = Dataset.load(Path(name))
    with segments_of(tokens):
        return trained(drafter, data, judged, recipe, changed)


def main() -> None:
    """Train each variant, print a line for it, and write results/variants.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("development", type=Path)
    parser.add_argument("variants", nargs="+", help="recipe, seed=N, layers=N, segment=N, full, outline, or a file")
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--tokens", type=int, default=Mixture.tokens, help="of a batch")
    parser.add_argument("--drafter", default=DEFAULT_DRAFTER)
    arguments = parser.parse_args()
    drafter = locate(arguments.drafter)
    vocabulary = Vocabulary(LlamaModel(drafter, vocabulary_only=True))
    data, judged = Dataset.load(arguments.data), Dataset.load(arguments.development)
    chunk = math.ceil(arguments.tokens / 2)
    recipe = TrainingRecipe(steps=arguments.steps, mixture=Mixture(tokens=arguments.tokens, chunk_tokens=chunk))
    found = {}
    for name in arguments.variants:
        label = Path(name).name
        found[label] = variant(name, drafter, data, judged, recipe, vocabulary)
        print(label, found[label], flush=True)
        gc.collect()
        torch.cuda.empty_cache()
    asked = {"drafter": drafter.name, "steps": arguments.steps, "tokens": arguments.tokens, "budgets": list(BUDGETS)}
    report("variants", {**asked, "variants": found})


if __name__ == "__main__":
    main()
