"""Models known by name, with the figures that say where one fits and how fast it is as a target: `targets.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTarget:
    """A target of the table, which explains the fields."""

    name: str
    parameters: int
    output: int
    output_size: int = 0
    layers: int
    token_bytes: int
    quantisation: str
    bytes: int
    licence: str
    source: str = ""
    expert_parameters: int = 0
    expert_bytes: int = 0
    experts: int = 1
    experts_used: int = 1
    state_bytes: int = 0
    tied: bool = False
    file: str = ""
    sha256: str = ""
    url: str = ""
    drafter: bool = False
    wheels: Sequence[Mapping[str, Any]] = field(default=(), compare=False)

    @property
    def prompt_parameters(self) -> int:
        """Weights that a token of a prompt is multiplied with."""
        unused = self.expert_parameters * (self.experts - self.experts_used) // self.experts
        return self.parameters - unused - self.output * (1 if self.tied else 2)

    @property
    def output_bytes(self) -> int:
        """Of the output matrix; about, where the table has none."""
        return self.output_size or self.output * self.bytes // self.parameters

    @property
    def answer_bytes(self) -> float:
        """Bytes of weights that a token of the answer reads: the output matrix, too."""
        return self.bytes * (self.prompt_parameters + self.output) / self.parameters


@cache
def known_targets() -> tuple[KnownTarget, ...]:
    """All targets of the table, the smallest first."""
    entries = tomllib.loads(Path(__file__).with_name("targets.toml").read_text("utf-8"))["target"]
    return tuple(sorted((KnownTarget(**entry) for entry in entries), key=lambda one: one.parameters))


def source_of(name: str) -> str:
    """The name to pull a model by: the source of a target in the table, or the name itself."""
    return next((one.source for one in known_targets() if one.name == name and one.source), name)
