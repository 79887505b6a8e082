"""`winnow train draft`: from prompts to a draft's files in one run."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch

from winnow_engine.errors import TrainingError
from winnow_research.training.dataset import Rows
from winnow_research.training.draft.export import export
from winnow_research.training.draft.network import DraftShape
from winnow_research.training.draft.prompts import PromptData
from winnow_research.training.draft.target import Target
from winnow_research.training.draft.trainer import DraftRecipe, DraftTrainer, Ids, Say, Text, frequent

_TOGETHER = 512  # answers written at a time: keys and values of the 1.5B take 23 GB


def train_draft(data: Path, target: Path, out: Path, recipe: DraftRecipe, say: Say) -> None:
    """Train on the prompts in `data` and write `out` (GGUF), a `.safetensors` beside it, and how it went (JSON).

    Raises TrainingError if `data` holds no prompts, and the target's errors.
    """
    torch.manual_seed(recipe.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    prompts = PromptData.load(data)
    loaded = Target(target, device)
    if not len(prompts.asked) or not len(prompts.judged):
        raise TrainingError(f"{data} has no prompts, or none to judge by: make it anew with more functions")
    if int(prompts.asked.values.max()) >= len(loaded.head):
        raise TrainingError(f"{data} was made for another target: make it anew")
    judged = answered(loaded, prompts.judged, prompts.ends, replace(recipe, sampled=0.0), recipe.judged, say)
    texts = answered(loaded, prompts.asked, prompts.ends, recipe, recipe.answers, say)
    texts += [Text(prompts.code[number], 0) for number in range(min(len(texts) // 5, len(prompts.code)))]
    torch.cuda.empty_cache()  # of the answers' keys and values
    shape = DraftShape.of(loaded.shape, len(loaded.head))
    tokens = frequent(texts, shape.vocabulary, prompts.ends, len(loaded.head))
    trainer = DraftTrainer(loaded, shape, tokens, recipe)
    losses = trainer.train(texts, judged, say)
    verdict = trainer.judge(judged)
    say(f"development: {json.dumps(verdict)}")
    export(trainer.network, tokens, target, out)
    record = {
        "data": hashlib.sha256(data.read_bytes()).hexdigest(),
        "recipe": asdict(recipe),
        "shape": asdict(shape),
        "texts": len(texts),
        "losses": losses,
        "development": verdict,
    }
    out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def answered(
    target: Target, prompts: Rows, ends: Sequence[int], recipe: DraftRecipe, count: int, say: Say
) -> list[Text]:
    """The first `count` of the prompts with the target's answers. Those of about equal length are answered together."""
    rng, started = random.Random(recipe.seed), time.perf_counter()
    order = sorted(range(min(count, len(prompts))), key=lambda number: len(prompts[number]))
    texts: list[Text] = []
    for start in range(0, len(order), _TOGETHER):
        batch: list[Ids] = [prompts[number] for number in order[start : start + _TOGETHER]]
        heats = [recipe.temperature if rng.random() < recipe.sampled else 0.0 for _ in batch]
        written = target.answers(batch, recipe.answer_tokens, heats, ends)
        texts += [Text(np.concatenate([p, a]), len(p)) for p, a in zip(batch, written, strict=True)]
    total = sum(len(text.ids) - text.answer for text in texts)
    say(f"answers: {len(texts):,}, {total:,} tokens, {time.perf_counter() - started:.0f} s")
    return texts
