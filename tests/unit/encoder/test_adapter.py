"""The shipped adapter's heads, over keys drawn at random: some units alone, and all of them roughly."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from winnow_cuda.shapes import Encoded
from winnow_engine.encoder.adapter import AdapterProfile
from winnow_engine.encoder.profile import QuestionStates, TwoLevelProfile
from winnow_engine.errors import ProfileError
from winnow_engine.models.registry import weight_folders

OFFSETS = np.cumsum([0, 3, 0, 40, 1, 17, 9])
UNITS = np.array([5, 0, 2, 1])


@pytest.fixture(scope="module")
def adapter() -> AdapterProfile:
    (folder,) = weight_folders("adapter")
    return AdapterProfile(folder / "adapter.safetensors")


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    random, rows = np.random.default_rng(1), int(OFFSETS[-1])
    codes = random.integers(-127, 128, (rows, 64)).astype(np.int8)
    scales = (random.random(rows) / 500).astype(np.float16)
    pooled = random.standard_normal((len(OFFSETS) - 1, 256)).astype(np.float16) / np.float16(16)
    return {"codes": codes, "scales": scales, "pooled": pooled}


def questions(adapter: AdapterProfile) -> list[QuestionStates]:
    random, width = np.random.default_rng(2), adapter.tensors["pool.k"].shape[1]
    hidden = [random.standard_normal((rows, width)).astype(np.float32) for rows in (7, 31)]
    return [QuestionStates(Encoded(one, {}, {}), slice(0, len(one))) for one in hidden]


def test_some_units_score_alone_as_they_do_among_all(adapter: AdapterProfile, arrays: dict[str, np.ndarray]) -> None:
    assert isinstance(adapter, TwoLevelProfile)
    for question in questions(adapter):
        of_all = adapter.score(arrays, OFFSETS, question)
        of_some = adapter.score_units(arrays, OFFSETS, UNITS, question)
        assert of_all.keys() == of_some.keys()
        for name, scores in of_some.items():
            np.testing.assert_allclose(scores, of_all[name][UNITS], rtol=1e-3, atol=1e-3)


def test_all_units_score_roughly_for_several_questions_at_once(
    adapter: AdapterProfile, arrays: dict[str, np.ndarray]
) -> None:
    asked = questions(adapter)
    coarse = adapter.score_coarsely(arrays, OFFSETS, asked)
    assert coarse.keys() == {"pooled"}
    for question, scores in zip(asked, coarse["pooled"], strict=True):
        expected = adapter.score(arrays, OFFSETS, question)["pooled"]
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3"])
def test_an_adapter_of_numbers_that_numpy_lacks_says_so(tmp_path: Path, kind: str) -> None:
    size = 2 if kind == "BF16" else 1
    described = {"__metadata__": {"lora_scale": "1"}, "k": {"dtype": kind, "shape": [1], "data_offsets": [0, size]}}
    header = json.dumps(described).encode()
    (tmp_path / "adapter.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    with pytest.raises(ProfileError, match="a type that NumPy lacks"):
        AdapterProfile(tmp_path / "adapter.safetensors")
