"""How many threads of heavy arithmetic suit this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def physical_cores() -> int:
    """Physical cores this process may use where the system tells them (Linux), all logical ones elsewhere."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    cpus = os.sched_getaffinity(0)
    siblings = [Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in cpus]
    return len({path.read_text() for path in siblings if path.is_file()}) or len(cpus)
