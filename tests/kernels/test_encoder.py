"""Which encoder is chosen, and what happens when a device fails."""

import numpy as np
import pytest

from winnow_cuda.backends import Steadfast
from winnow_cuda.device import DeviceError, OutOfDeviceMemoryError
from winnow_cuda.shapes import Batch, Encoded

BATCH = Batch(np.zeros(1, np.int32), np.zeros(1, np.int32), np.array([0, 1]))


class Failing:
    batch_tokens, parallel = 7, False

    def __init__(self, error: Exception) -> None:
        self.error, self.calls = error, 0

    def encode(self, *_: object) -> Encoded:
        self.calls += 1
        raise self.error

    encode_keys = encode


class Working:
    batch_tokens, parallel = 3, True
    encoded = Encoded(np.zeros((1, 2), np.float32), {}, {})

    def encode(self, *_: object) -> Encoded:
        return self.encoded

    encode_keys = encode


def test_a_failing_device_is_given_up_once_and_said_so() -> None:
    failing, notices = Failing(OutOfDeviceMemoryError("cuMemAlloc: no room")), []
    encoder = Steadfast(failing, Working, notices.append)
    assert encoder.encode(BATCH) is Working.encoded
    assert encoder.encode(BATCH) is Working.encoded
    assert failing.calls == 1
    assert len(notices) == 1
    assert "no room" in notices[0]


def test_keys_too_come_from_the_cpu_then() -> None:
    encoder = Steadfast(Failing(DeviceError("lost")), Working, lambda notice: None)
    assert encoder.encode_keys(BATCH, np.array([[0, 1]], np.int32)) is Working.encoded


def test_other_errors_are_not_the_devices() -> None:
    encoder = Steadfast(Failing(KeyError("cancelled")), Working, pytest.fail)
    with pytest.raises(KeyError):
        encoder.encode(BATCH)
