"""The processes that `torchrun` starts to train together, one for each GPU. Without it there is one."""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import distributed

from winnow_research.errors import TrainingError

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Team:
    """This process, number `rank` of `count`. They share the batches of a step and make the same updates."""

    rank: int
    count: int

    @property
    def leads(self) -> bool:
        """Whether this is the one process that reports and writes files."""
        return self.rank == 0

    def share(self, batches: int) -> range:
        """Which of a step's batches are this process's. TrainingError if there are more processes than batches."""
        if self.count > batches:
            raise TrainingError(f"{self.count} processes for {batches} batches a step: start no more than that")
        return range(self.rank, batches, self.count)

    def add_up(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Each gradient becomes the sum over all processes."""
        if self.count == 1:
            return
        gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        for parameter, total in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
            parameter.grad = total.view_as(parameter)

    def gathered(self, found: dict[K, V]) -> dict[K, V]:
        """What all processes have found together, for each of them."""
        if self.count == 1:
            return found
        parts: list[Any] = [None] * self.count
        distributed.all_gather_object(parts, found)
        return {key: value for part in parts for key, value in part.items()}

    def agreed(self, value: float) -> float:
        """The leading process's value, when all have come here. The GPU is not waited for."""
        if self.count == 1:
            return value
        told = torch.tensor([value], dtype=torch.float64)
        distributed.broadcast(told, 0)
        return float(told)


def team() -> Team:
    """This process among the others, by torchrun's variables."""
    return Team(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))


def device_of_process() -> torch.device:
    """This process's GPU, or the CPU if there is none. Joins the other processes if `torchrun` started it."""
    index = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device("cuda", index) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if "WORLD_SIZE" in os.environ and not distributed.is_initialized():
        distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
        atexit.register(distributed.destroy_process_group)
    return device
