"""Which encoder is chosen, and what happens when a device fails."""

import numpy as np
import pytest

from winnow_cuda.backends import CpuScorer, Steadfast
from winnow_cuda.device import DeviceError, OutOfDeviceMemoryError, availability
from winnow_cuda.shapes import Batch, Encoded, runs_between

BATCH = Batch(np.zeros(1, np.int32), np.zeros(1, np.int32), np.array([0, 1]))


class Failing:
    batch_tokens, parallel = 7, False

    def __init__(self, error: Exception) -> None:
        self.error, self.calls = error, 0

    def encode(self, *_: object) -> Encoded:
        self.calls += 1
        raise self.error

    encode_keys = maxsim = unit_mass = unit_products = encode


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


def test_a_failing_device_scores_no_more() -> None:
    failing, notices = Failing(DeviceError("cuLaunchKernel: lost")), []
    scorer, vectors, query = Steadfast(failing, CpuScorer, notices.append), np.ones((2, 3)), np.ones((1, 3))
    offsets, keys = np.array([0, 2]), np.ones((2, 64), np.float32)
    assert scorer.unit_products(vectors.astype(np.float16), query.astype(np.float32)).tolist() == [[3, 3]]
    ones = np.ones(2, np.float32)
    codes, scales = keys.astype(np.int8), ones.astype(np.float16)
    assert scorer.unit_mass(codes, scales, offsets, keys)[0].shape == (1, 2)
    assert scorer.maxsim(codes, scales, runs_between(offsets), keys, ones).tolist() == [64]
    assert failing.calls == len(notices) == 1


def test_other_errors_are_not_the_devices() -> None:
    encoder = Steadfast(Failing(KeyError("cancelled")), Working, pytest.fail)
    with pytest.raises(KeyError):
        encoder.encode(BATCH)


def test_availability_says_why() -> None:
    found = availability()
    assert found.reason
    assert issubclass(OutOfDeviceMemoryError, DeviceError)
