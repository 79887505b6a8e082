"""How many processes encode where nobody says so: two where one keeps a GPU waiting."""

from __future__ import annotations

from dataclasses import dataclass

from winnow_cuda.device import DeviceError, open_device
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.fleet.processes import visible_devices
from winnow_engine.platform import free_memory, physical_cores

# Two workers take 12 to 20 s for 11 million tokens where none take 23 to 46 (H100s, 16 and 32 cores:
# docs/results/index.md), and 3 GB of memory more. Each first loads its drafter for a few seconds.
_WORKERS = 2
_LEAST_TOKENS = 5_000_000
_LEAST_CORES = 8
_LEAST_BYTES = 6 << 30
_LEAST_DEVICE_BYTES = 8 << 30


@dataclass(frozen=True, slots=True)
class Room:
    """What a machine has for workers: GPUs, physical cores, free bytes of its memory and of the first GPU's."""

    devices: int
    cores: int
    free_bytes: int
    free_device_bytes: int


def workers_that_pay(tokens: int, room: Room) -> int:
    """How many workers to have for so many tokens; 0 for none, so that this process encodes.

    Only with a GPU: on the CPU all cores are busy with one process.
    """
    pays = (
        tokens >= _LEAST_TOKENS
        and room.devices > 0
        and room.cores >= _LEAST_CORES
        and room.free_bytes >= _LEAST_BYTES
        and room.free_device_bytes >= _LEAST_DEVICE_BYTES
    )
    return _WORKERS if pays else 0


def room_beside(drafter: Drafter) -> Room:
    """What there is beside a loaded drafter. One that is not on a GPU leaves no GPU to others."""
    devices, free = 0, 0
    if drafter.place == "resident":
        try:
            device = open_device()
            with device.lock:
                device.activate()
                devices, free = len(visible_devices()), device.free_memory()
        except DeviceError:  # it was lost since; the drafter goes on on the CPU
            devices = 0
    return Room(devices, physical_cores(), free_memory(), free)
