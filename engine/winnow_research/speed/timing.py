"""How long the device works, by its own clock."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from winnow_cuda.device import Device


def seconds_of(device: Device, work: Callable[[], object], repeats: int = 10) -> float:
    """The median time that the device takes for what `work` launches, after two warm-ups."""
    start, stop = (device.call("cuEventCreate", 0) for _ in range(2))
    taken = []
    for _ in range(repeats + 2):
        device.call("cuEventRecord", start, 0)
        work()
        device.call("cuEventRecord", stop, 0)
        device.call("cuEventSynchronize", stop)
        taken.append(float(device.call("cuEventElapsedTime", start, stop)) / 1e3)
    for event in (start, stop):
        device.call("cuEventDestroy", event)
    return float(np.median(taken[2:]))
