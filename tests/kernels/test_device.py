"""The device, over a driver that only remembers what it was asked."""

import importlib.util
import os
import subprocess
import sys
from typing import Any
from unittest.mock import Mock

import pytest

from winnow_cuda.device import Availability, Device, DeviceError, OutOfDeviceMemoryError, _opened, availability
from winnow_cuda.ops.gpu.elementwise import embedding


class Driver:
    """Answers every call with success and a number, or with the error code set for it."""

    def __init__(self, **codes: int) -> None:
        self.codes, self.called = codes, list[str]()

    def __getattr__(self, name: str) -> Any:
        if name == "CUdevice_attribute":
            return AnyAttribute()

        def call(*_: object) -> tuple[object, ...]:
            self.called.append(name)
            return self.codes.get(name, 0), b"simulated\0" if name == "cuDeviceGetName" else 8

        return call


class AnyAttribute:
    def __getattr__(self, name: str) -> str:
        return name


def test_a_kernel_is_compiled_once_on_a_machine_and_said_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "winnow_cuda")
    binaries: dict[str, bytes] = {}
    for _ in range(2):
        device = Device(Driver())
        device.binaries = binaries
        for _ in range(2):
            device.launch(embedding(64), (1, 1), 0, 0, 0, 0)
    assert caplog.messages == ["compiling embedding for the GPU"]
    assert len(binaries) == 1


@pytest.mark.parametrize(("code", "kind"), [(2, OutOfDeviceMemoryError), (700, DeviceError)])
def test_what_the_driver_refuses_is_an_error_with_its_call(code: int, kind: type[DeviceError]) -> None:
    device = Device(Driver(cuMemAlloc=code))
    with pytest.raises(kind, match="cuMemAlloc"):
        device.empty((4,), "f4")


def test_small_arrays_take_the_place_of_those_that_went() -> None:
    driver = Driver()
    device = Device(driver)
    for elements in (1000, 900, 1000, 1 << 20, 1 << 20):
        assert device.empty((elements,), "f4").bytes == 4 * elements
    assert (driver.called.count("cuMemAlloc"), driver.called.count("cuMemFree")) == (3, 2)


def test_a_machine_without_a_device_does_not_wait_for_the_compiler_of_its_kernels() -> None:
    code = "import sys, winnow_cuda.device as own; print(own.availability().usable, 'numba.cuda' in sys.modules)"
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", code], env=hidden, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_a_machine_without_a_driver_says_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", Mock(cuInit=Mock(side_effect=RuntimeError("searched"))))
    with pytest.raises(DeviceError, match=r"^no NVIDIA driver$"):
        _opened.__wrapped__()


def test_a_device_without_the_extra_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert availability() == Availability(False, "the extra 'cuda' is not installed (No module named 'cuda')")
