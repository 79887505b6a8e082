"""How a local target is run."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

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


def physical_cores() -> int:
    """Physical cores this process may use where the system tells them (Linux), all logical ones elsewhere."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    cpus = os.sched_getaffinity(0)
    siblings = [Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in cpus]
    return len({path.read_text() for path in siblings if path.is_file()}) or len(cpus)
