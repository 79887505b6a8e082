"""`winnow train draft`: from prompts to a draft's files in one run."""

from __future__ import annotations

import hashlib
import json
import math
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from winnow_engine.targets.drafts.block_file import BlockShape
from winnow_research.errors import TrainingError
from winnow_research.training import checkpoint as checkpoints
from winnow_research.training.dataset import Rows
from winnow_research.training.draft.export import export
from winnow_research.training.draft.prompts import PromptData
from winnow_research.training.draft.trainer import DraftRecipe, DraftText, DraftTrainer, Ids, Say, Sitting, frequent
from winnow_research.training.qwen2 import Qwen2
from winnow_research.training.writing import continued

_GROUP = 3_072  # answers written with keys and values of one length
_ANSWERING = 0.3  # of a sitting's time, after which no more prompts are answered


def train_draft(
    data: Path, target: Path, out: Path, recipe: DraftRecipe, say: Say, sitting: Sitting | None = None
) -> None:
    """Train on the prompts in `data` and write `out` (GGUF), a `.safetensors` beside it, and how it went (JSON).

    A `.answers.npz` and a `.checkpoint` are written too, with which the next call goes on. Raises TrainingError if
    `data` holds no prompts, and the target's errors.
    """
    started, sitting = time.perf_counter(), sitting or Sitting()
    torch.manual_seed(recipe.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    prompts = PromptData.load(data)
    loaded = Qwen2(target, device)
    if not len(prompts.asked) or not len(prompts.judged):
        raise TrainingError(f"{data} has no prompts, or none to judge by: make it anew with more functions")
    if int(prompts.asked.values.max()) >= len(loaded.head):
        raise TrainingError(f"{data} was made for another target: make it anew")
    say(f"{target.name} on {device}, {time.perf_counter() - started:.0f} s")
    texts, judged = kept_texts(
        loaded, prompts, recipe, out.with_suffix(".answers.npz"), say, sitting.seconds * _ANSWERING
    )
    torch.cuda.empty_cache()  # of the answers' keys and values
    shape = BlockShape.of(loaded.shape, len(loaded.head), recipe.layers)
    tokens = frequent(texts, shape.vocabulary, prompts.ends, len(loaded.head))
    trainer, checkpoint = DraftTrainer(loaded, shape, tokens, recipe), out.with_suffix(".checkpoint")
    if checkpoint.exists():
        trainer.resume(checkpoints.load(checkpoint, device))
        say(f"{checkpoint}: goes on after {len(trainer.losses):,} steps")
    left = replace(sitting, seconds=max(1.0, sitting.seconds - (time.perf_counter() - started)))
    keep = partial(checkpoints.save, path=checkpoint)
    trainer.train(texts, judged, say, left, keep)
    keep(trainer.state())
    verdict = trainer.judge(judged)
    say(f"development after {len(trainer.losses):,} steps, {trainer.seconds:.0f} s: {json.dumps(verdict)}")
    export(trainer.network, tokens, target, out)
    record = {
        "data": hashlib.sha256(data.read_bytes()).hexdigest(),
        "recipe": asdict(recipe),
        "shape": asdict(shape),
        "texts": len(texts),
        "losses": trainer.losses,
        "curve": trainer.curve,
        "seconds": round(trainer.seconds),
        "development": verdict,
    }
    out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def kept_texts(
    target: Qwen2, prompts: PromptData, recipe: DraftRecipe, kept: Path, say: Say, seconds: float
) -> tuple[list[DraftText], list[DraftText]]:
    """Texts to train on and to judge by: the answers that are in `kept`, or new ones, which are written to it."""
    if kept.exists():
        with np.load(kept) as stored:
            texts, judged = (_unpacked(stored[f"{name}.ids"], stored[f"{name}.sizes"]) for name in ("texts", "judged"))
        say(f"{kept}: {len(texts):,} texts, {len(judged):,} to judge by")
        return texts, judged
    judged = answered(target, prompts.judged, prompts.ends, replace(recipe, sampled=0.0), recipe.judged, say)
    texts = answered(target, prompts.asked, prompts.ends, recipe, recipe.answers, say, seconds)
    texts += [DraftText(prompts.code[number], 0) for number in range(min(len(texts) // 10, len(prompts.code)))]
    packed = {}
    for name, some in (("texts", texts), ("judged", judged)):
        packed[f"{name}.ids"] = np.concatenate([text.ids for text in some])
        packed[f"{name}.sizes"] = np.array([[len(text.ids), text.answer] for text in some], np.int32)
    with kept.open("wb") as file:
        np.savez(file, allow_pickle=False, **packed)
    return texts, judged


def _unpacked(ids: Ids, sizes: Ids) -> list[DraftText]:
    ends = np.cumsum(sizes[:, 0])
    return [
        DraftText(ids[end - length : end], answer) for end, (length, answer) in zip(ends, sizes.tolist(), strict=True)
    ]


def answered(
    target: Qwen2,
    prompts: Rows,
    ends: Sequence[int],
    recipe: DraftRecipe,
    count: int,
    say: Say,
    seconds: float = math.inf,
) -> list[DraftText]:
    """The first `count` of the prompts with the target's answers, or fewer if that takes more than `seconds`.

    Those of about equal length are answered together, the shortest first.
    """
    rng, started = random.Random(recipe.seed), time.perf_counter()
    texts: list[DraftText] = []
    order = sorted(range(min(count, len(prompts))), key=lambda number: len(prompts[number]))
    for start in range(0, len(order), _GROUP):
        if time.perf_counter() - started > seconds:
            break
        group: list[Ids] = [prompts[number] for number in order[start : start + _GROUP]]
        heats = [recipe.temperature if rng.random() < recipe.sampled else 0.0 for _ in group]
        written = continued(target, group, recipe.answer_tokens, heats, ends)
        texts += [DraftText(np.concatenate([p, a]), len(p)) for p, a in zip(group, written, strict=True)]
        total = sum(len(text.ids) - text.answer for text in texts)
        say(f"answers: {len(texts):,}, {total:,} tokens, {time.perf_counter() - started:.0f} s")
    return texts
