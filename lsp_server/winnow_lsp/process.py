"""What must be settled before NumPy is first imported."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_NEEDED = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}


def prepare(environment: MutableMapping[str, str] = os.environ, cpuinfo: Path = _CPUINFO) -> None:
    """Let OpenBLAS use AVX-512 on AMD processors, most of which it takes for older ones without it.

    Measured on an EPYC of family 26, 2 cores, float32: 231 GFLOP/s as detected, 455 as SkylakeX. Intel processors
    are detected right and left alone, as is a choice of the user's own.
    """
    if "OPENBLAS_CORETYPE" in environment or not cpuinfo.is_file():
        return
    text = cpuinfo.read_text()
    flags = next((line.split() for line in text.splitlines() if line.startswith("flags")), [])
    if "AuthenticAMD" in text and _NEEDED.issubset(flags):
        environment["OPENBLAS_CORETYPE"] = "SkylakeX"
