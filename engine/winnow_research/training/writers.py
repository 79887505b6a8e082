"""Text writers on all GPUs of this machine, a process each, which share the prompts in batches of like length."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
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
from winnow_research.training.text_writer import TextWriter

_BATCH_TOKENS = 400_000  # of prompts and their common beginning: 11 GB of keys and values for a model of 1.5B

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Part:
    """A batch: what is to be read after the opening, and what is to be judged or how to write."""

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
        """The text that follows each prompt, as `TextWriter.write` says."""
        lengths = [len(prompt) for prompt in prompts]

        def part(number: int, batch: Sequence[int]) -> _Part:
            shown = tuple(prompts[n] for n in batch)
            return _Part(self._model, self._opening, number, shown, (), most_tokens, temperature, seed)

        return self._shared("questions", _write, lengths, part)

    def likelihoods(self, prompts: Sequence[Int32], answers: Sequence[Int32]) -> list[float]:
        """How likely each answer is after its prompt, as `TextWriter.likelihoods` says."""
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
        groups = list(batches(by_length, [len(self._opening) + length for length in lengths], _BATCH_TOKENS))
        parts = [part(number, group) for number, group in enumerate(groups)]
        found: dict[int, _Result] = {}
        for done, (group, results) in enumerate(zip(groups, self._pool.map(do, parts), strict=True), 1):
            found.update(zip(group, results, strict=True))
            self._progress(Progress(stage, done, len(groups)))
        return [found[n] for n in range(len(lengths))]


def batches(order: Sequence[int], sizes: Sequence[int], most_tokens: int) -> Iterator[list[int]]:
    """Batches of prompts, by number, of about the same length. `order` goes from short to long; `sizes` are tokens."""
    batch: list[int] = []
    for number in order:
        if batch and (len(batch) + 1) * sizes[number] > most_tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _devices() -> list[str]:
    """The GPUs this process may use, as CUDA_VISIBLE_DEVICES names them; one empty name if there is none."""
    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(count)))
    return visible.split(",")[:count] or [""]


def _take(devices: Queue[str]) -> None:
    """Let this process see one device only: llama.cpp would make the last device it sees the current one."""
    os.environ["CUDA_VISIBLE_DEVICES"] = devices.get()


def _write(part: _Part) -> list[str]:
    writer, vocabulary = _loaded(part.model)
    chance = 1_000_000 * part.seed + part.number
    found = writer.write(part.opening, part.prompts, part.most_tokens, part.temperature, chance)
    return [vocabulary.text(ids) for ids in found]


def _judge(part: _Part) -> list[float]:
    writer, _ = _loaded(part.model)
    return writer.likelihoods(part.opening, part.prompts, part.answers)


@lru_cache(maxsize=1)
def _loaded(model: Path) -> tuple[TextWriter, Vocabulary]:
    vocabulary = Vocabulary(LlamaModel(model, vocabulary_only=True))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return TextWriter(model, vocabulary.is_end, device), vocabulary
