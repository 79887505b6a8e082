"""Models that write and judge texts on all GPUs of this machine, a process each, which share the prompts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Self, TypeVar

import torch

from winnow_cuda.shapes import Int32
from winnow_engine.core import Progress, ProgressSink
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.training.qwen2 import Qwen2
from winnow_research.training.writing import continued

_PROMPTS = 3_072  # of about the same length, which one process takes at a time

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Part:
    """Some prompts: what is to be read after the opening, and what is to be judged or how to write."""

    model: Path
    opening: Int32
    number: int
    prompts: tuple[Int32, ...]
    answers: tuple[Int32, ...] = ()
    most_tokens: int = 0
    temperature: float = 0.0
    seed: int = 0


class Writers:
    """Writes after prompts with a common beginning. A context manager."""

    def __init__(self, model: Path, opening: Int32, progress: ProgressSink) -> None:
        self._model, self._opening, self._progress = model, opening, progress
        names = _devices()
        context = get_context("spawn")
        devices: Queue[str] = context.Queue()
        for name in names:
            devices.put(name)
        self._pool = ProcessPoolExecutor(len(names), context, _take, (devices,))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def write(self, prompts: Sequence[Int32], most_tokens: int, temperature: float, seed: int) -> list[str]:
        """The text that follows each prompt, of at most `most_tokens`; at temperature 0 each is the likeliest.

        On one machine equal arguments give equal texts.
        """
        lengths = [len(prompt) for prompt in prompts]

        def part(number: int, batch: Sequence[int]) -> _Part:
            shown = tuple(prompts[n] for n in batch)
            return _Part(self._model, self._opening, number, shown, (), most_tokens, temperature, seed)

        return self._shared("questions", _write, lengths, part)

    def likelihoods(self, prompts: Sequence[Int32], answers: Sequence[Int32]) -> list[float]:
        """The mean log-likelihood in nats of each answer's tokens, at least one, after its prompt."""
        lengths = [len(prompt) + len(answer) for prompt, answer in zip(prompts, answers, strict=True)]

        def part(number: int, batch: Sequence[int]) -> _Part:
            shown, judged = tuple(prompts[n] for n in batch), tuple(answers[n] for n in batch)
            return _Part(self._model, self._opening, number, shown, judged)

        return self._shared("likelihoods", _judge, lengths, part)

    def _shared(
        self,
        stage: str,
        do: Callable[[_Part], list[_Result]],
        lengths: Sequence[int],
        part: Callable[[int, Sequence[int]], _Part],
    ) -> list[_Result]:
        by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
        groups = [by_length[start : start + _PROMPTS] for start in range(0, len(by_length), _PROMPTS)]
        parts = [part(number, group) for number, group in enumerate(groups)]
        found: dict[int, _Result] = {}
        for group, results in zip(groups, self._pool.map(do, parts), strict=True):
            found.update(zip(group, results, strict=True))
            self._progress(Progress(stage, len(found), len(lengths)))
        return [found[n] for n in range(len(lengths))]


def _devices() -> list[str]:
    """The GPUs this process may use, as CUDA_VISIBLE_DEVICES names them; one empty name if there is none."""
    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(count)))
    return visible.split(",")[:count] or [""]


def _take(devices: Queue[str]) -> None:
    """Let this process see one device only: llama.cpp would make the last device it sees the current one."""
    os.environ["CUDA_VISIBLE_DEVICES"] = devices.get()


@dataclass(frozen=True)
class _Loaded:
    """A model on this process's device, its vocabulary, and the tokens that end an answer."""

    model: Qwen2
    vocabulary: Vocabulary
    ends: tuple[int, ...]


def _write(part: _Part) -> list[str]:
    loaded = _loaded(part.model)
    torch.manual_seed(1_000_000 * part.seed + part.number)
    heats, opening = [part.temperature] * len(part.prompts), loaded.model.opening(part.opening)
    found = continued(loaded.model, part.prompts, part.most_tokens, heats, loaded.ends, opening)
    return [loaded.vocabulary.text(ids[:-1] if ids[-1] in loaded.ends else ids) for ids in found]


def _judge(part: _Part) -> list[float]:
    model = _loaded(part.model).model
    return model.likelihoods(part.prompts, part.answers, model.opening(part.opening))


@lru_cache(maxsize=1)
def _loaded(model: Path) -> _Loaded:
    vocabulary = Vocabulary(LlamaModel(model, vocabulary_only=True))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    ends = tuple(token for token in range(vocabulary.size) if vocabulary.is_end(token))
    return _Loaded(Qwen2(model, device), vocabulary, ends)
