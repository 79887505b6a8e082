"""The machine that figures were measured on."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info


def describe() -> dict[str, Any]:
    """The processor, cores, BLAS, and the versions of packages that matter."""
    blas = [pool.get("architecture") for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "blas": blas,
        "python": platform.python_version(),
        "versions": dict(_versions()),
        "date": time.strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return ", ".join(sorted({line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")}))


def _versions() -> Iterator[tuple[str, str]]:
    for name in ("numpy", "numba", "numba-cuda", "llama-cpp-python"):
        with suppress(PackageNotFoundError):
            yield name, version(name)
