"""Two workers are chosen where they pay and there is room for them, and nobody said otherwise."""

from dataclasses import replace
from threading import Lock
from typing import Any

import pytest

from winnow_cuda.device import DeviceError
from winnow_engine.config import ModelConfig
from winnow_engine.fleet import choosing
from winnow_engine.fleet.choosing import Room, room_beside, workers_that_pay
from winnow_lsp.cli import index

GIB = 1 << 30
ENOUGH = Room(devices=1, cores=16, free_bytes=100 * GIB, free_device_bytes=70 * GIB)
MANY = 10_000_000


def test_two_workers_where_there_is_much_to_encode() -> None:
    assert workers_that_pay(MANY, ENOUGH) == 2
    assert workers_that_pay(MANY, replace(ENOUGH, devices=8)) == 2


@pytest.mark.parametrize(
    ("tokens", "room"),
    [
        (1_000_000, ENOUGH),
        (MANY, replace(ENOUGH, devices=0)),
        (MANY, replace(ENOUGH, cores=4)),
        (MANY, replace(ENOUGH, free_bytes=4 * GIB)),
        (MANY, replace(ENOUGH, free_device_bytes=4 * GIB)),
    ],
)
def test_none_where_anything_is_short(tokens: int, room: Room) -> None:
    assert workers_that_pay(tokens, room) == 0


class Somewhere:
    """A drafter of which only the place is asked."""

    def __init__(self, place: str) -> None:
        self.place = place


def test_a_drafter_on_the_cpu_leaves_no_gpu_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "open_device", lambda: pytest.fail("no device is opened"))
    drafter: Any = Somewhere("cpu")
    room = room_beside(drafter)
    assert room.devices == room.free_device_bytes == 0
    assert room.cores > 0
    assert room.free_bytes > 0


class Device:
    """A GPU with a GiB free."""

    lock = Lock()

    def activate(self) -> None:
        assert self.lock.locked()

    def free_memory(self) -> int:
        return GIB


def test_a_drafter_on_a_gpu_leaves_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "open_device", Device)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,3")
    drafter: Any = Somewhere("resident")
    room = room_beside(drafter)
    assert (room.devices, room.free_device_bytes) == (2, GIB)


def test_a_gpu_that_is_lost_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost() -> Device:
        raise DeviceError("cuCtxSetCurrent: CUDA_ERROR_ECC_UNCORRECTABLE")

    monkeypatch.setattr(choosing, "open_device", lost)
    drafter: Any = Somewhere("resident")
    assert room_beside(drafter).devices == 0


@pytest.mark.parametrize(("said", "megabytes", "opened"), [(None, 100, 2), (None, 1, 0), (0, 100, 0), (1, 1, 1)])
def test_the_command_opens_what_was_said_or_pays(
    monkeypatch: pytest.MonkeyPatch, said: int | None, megabytes: int, opened: int
) -> None:
    counts = list[int]()
    monkeypatch.setattr(index, "room_beside", lambda _: ENOUGH)
    monkeypatch.setattr(index, "locate", lambda name: name)
    monkeypatch.setattr(index, "open_processes", lambda model, drafter, count: counts.append(count))
    drafter: Any = Somewhere("resident")
    index._fleet(ModelConfig(), said, ray=False, address=None)(drafter, megabytes * 10**6)
    assert sum(counts) == opened
