"""What a figure was measured on, and where it is written."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

RESULTS = Path("results")
"""In the working directory."""


def describe() -> dict[str, Any]:
    """Processor, cores, BLAS and the versions that matter."""
    cpuinfo = Path("/proc/cpuinfo").read_text().splitlines()
    model = {line.split(":", 1)[1].strip() for line in cpuinfo if line.startswith("model name")}
    blas = [pool.get("architecture") for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "processor": ", ".join(model),
        "cores": os.cpu_count(),
        "blas": blas,
        "python": platform.python_version(),
        "versions": dict(_versions()),
        "date": time.strftime("%Y-%m-%d"),
    }


def _versions() -> Iterator[tuple[str, str]]:
    """Of the packages that are installed."""
    for name in ("numpy", "numba", "numba-cuda", "llama-cpp-python"):
        with suppress(PackageNotFoundError):
            yield name, version(name)


def median(values: list[float], digits: int = 3) -> float:
    """The median, of seconds to the millisecond unless more digits behind the point are asked for."""
    return round(statistics.median(values), digits)


def report(name: str, figures: dict[str, Any]) -> None:
    """Print the figures with the machine, and write them to results/NAME.json."""
    document = {"machine": describe(), **figures}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps(document, indent=2))
