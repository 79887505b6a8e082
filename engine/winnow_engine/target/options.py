"""How a local target is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from winnow_engine.cores import physical_cores

KvType = Literal["f16", "q8_0", "q4_0"]


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """Settings of a local target; None means what suits this machine.

    `kv_type` is the storage of keys and values. `n_threads` defaults to the physical cores, `n_gpu_layers` to
    all layers on a build with GPU support. `n_ubatch` tokens are evaluated at once: fewer cancel sooner where
    llama.cpp cannot stop inside a batch (GPUs).
    """

    kv_type: KvType = "f16"
    n_threads: int | None = None
    n_gpu_layers: int | None = None
    n_ubatch: int = 512

    def __post_init__(self) -> None:
        if self.kv_type not in get_args(KvType):
            raise ValueError(f"kv_type must be one of {', '.join(get_args(KvType))}, not {self.kv_type!r}")
        if self.n_threads is not None and self.n_threads < 1:
            raise ValueError(f"n_threads must be at least 1, not {self.n_threads}")
        if self.n_gpu_layers is not None and self.n_gpu_layers < 0:
            raise ValueError(f"n_gpu_layers must be at least 0, not {self.n_gpu_layers}")
        if self.n_ubatch < 1:
            raise ValueError(f"n_ubatch must be at least 1, not {self.n_ubatch}")

    @property
    def threads(self) -> int:
        """`n_threads`, or one a physical core: hyper-threads share the units that multiply matrices."""
        return self.n_threads or physical_cores()
