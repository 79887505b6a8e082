"""Targets for a machine: whether they fit and where, and how fast they read and answer."""

import os
from collections.abc import Callable
from pathlib import Path

import llama_cpp
import numpy as np
import pytest
from random_models import write_all, write_model

from winnow_engine.config import TargetOptions
from winnow_engine.models import registry
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.models.target_table import KnownTarget, known_targets
from winnow_engine.targets import residency, suggesting
from winnow_engine.targets.machine_speed import Speed
from winnow_engine.targets.snapshots.files import Snapshot
from winnow_engine.targets.snapshots.policy import snapshots_of
from winnow_engine.targets.suggesting import Suggestion, best, suggest

from .conftest import start, write_llama

GB = 10**9
DRAFTER = registry.find(DEFAULT_DRAFTER)
SPEED = Speed(1.6e11, 3e10, 2e-5, 3e-4)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two cores of a given speed, no GPU, no models, nothing measured."""
    monkeypatch.setattr(suggesting, "cpu_speed", lambda: SPEED)
    monkeypatch.setattr(suggesting, "gpu_speed", lambda experts: None)
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("winnow_engine.config.physical_cores", lambda: 2)
    monkeypatch.setattr(residency, "gpu_bytes", lambda: (None, "no GPU"))
    return tmp_path


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Gives the machine a GPU with so many gigabytes, and a llama.cpp that can use it."""

    def give(free: float) -> None:
        monkeypatch.setattr(residency, "gpu_bytes", lambda: (int(free * GB), "a GPU"))
        monkeypatch.setattr(llama_cpp, "llama_supports_gpu_offload", lambda: True)

    return give


def suggested(available: float = 100, patience_s: float = 10) -> dict[str, Suggestion]:
    return {one.model.name: one for one in suggest(DRAFTER, int(available * GB), patience_s)}


def test_the_largest_comes_first_and_nothing_needs_to_be_here() -> None:
    found = list(suggested().values())
    assert [one.model for one in found] == list(reversed(known_targets()))
    assert {(one.here, one.place, one.origin) for one in found} == {(False, "cpu", "forecast")}


def test_the_forecast_follows_from_the_weights_that_a_token_uses() -> None:
    target = suggested()[DEFAULT_TARGET]
    token_s = (1_777_088_000 - 2 * 233_373_696) / 1.6e11 + 28 * 2e-5
    assert target.tokens_per_s == pytest.approx(1 / token_s)
    assert target.prompt_tokens == 800
    assert target.first_token_s == pytest.approx(800 * token_s)
    assert suggested(patience_s=100)[DEFAULT_TARGET].prompt_tokens == 6000
    experts, dense = suggested()["qwen3-coder-30b-a3b"], suggested()["qwen3.6-27b"]
    assert experts.tokens_per_s > 5 * (dense.tokens_per_s or 0)
    assert experts.answer_tokens_per_s > 4 * (dense.answer_tokens_per_s or 0)


@pytest.mark.parametrize("target", known_targets(), ids=lambda target: target.name)
def test_the_table_is_sound(target: KnownTarget) -> None:
    assert target.source.startswith("hf:") or registry.find(target.name).bytes == target.bytes
    assert 0.5e9 < target.parameters <= 36e9 or not target.source
    assert 0.45 < target.bytes / target.parameters < 0.85
    assert 0 < target.prompt_parameters <= target.parameters
    assert target.licence


def test_memory_must_hold_the_drafter_and_the_target_with_its_context() -> None:
    needs = suggested()[DEFAULT_TARGET].needs_bytes
    assert needs == 1_117_320_768 + 12_288 * 28_672 + (512 << 20) + DRAFTER.bytes + (1 << 30)
    assert suggested(needs / GB)[DEFAULT_TARGET].place == "cpu"
    assert suggested((needs - 1000) / GB)[DEFAULT_TARGET].place is None
    assert suggested((needs - 1000) / GB)[DEFAULT_DRAFTER].place == "cpu"


@pytest.mark.parametrize(("free", "place"), [(8, "resident"), (3.2, "resident"), (2.0, "cpu")])
def test_a_gpu_is_used_as_far_as_it_goes(gpu: Callable[[float], None], free: float, place: str) -> None:
    gpu(free)
    target = suggested()[DEFAULT_TARGET]
    assert target.place == place
    assert target.origin == ("forecast" if place == "cpu" else "unknown")
    assert (target.first_token_s is None, target.prompt_tokens == 6000) == ((place != "cpu"),) * 2


def test_the_best_is_the_largest_that_begins_in_time(gpu: Callable[[float], None]) -> None:
    def name(**machine: float) -> str | None:
        chosen = best(list(suggested(**machine).values()), machine.get("patience_s", 10))
        return chosen and chosen.model.name

    assert name() == DEFAULT_TARGET
    assert name(patience_s=0.1) == DEFAULT_TARGET, "the quickest of those that answer well"
    assert name(available=3) == DEFAULT_DRAFTER
    assert name(available=1) is None
    gpu(80)
    assert name(patience_s=0.1) == "seed-oss-36b"
    gpu(16)
    assert name(patience_s=0.1) == "gpt-oss-20b"


@pytest.mark.parametrize(("token_s", "origin"), [(1 / 20, "forecast"), (1 / 2000, "measured")])
def test_a_speed_that_other_work_lowered_does_not_count(machine: Path, token_s: float, origin: str) -> None:
    target = registry.find(DEFAULT_TARGET)
    file = write_llama(machine / target.file, [])
    os.truncate(file, target.bytes)
    read = Snapshot(np.arange(9, dtype=np.int32), np.zeros(9, np.uint8), token_s)
    snapshots_of(file, TargetOptions().kv_type, GB).save(read)
    found = suggested()
    assert found[DEFAULT_TARGET].origin == origin
    assert best(list(found.values()), 10) == found[DEFAULT_TARGET]


def test_what_was_pulled_is_in_the_list_with_its_headers_figures(machine: Path) -> None:
    folder = machine / "acme" / "tiny-GGUF"
    folder.mkdir(parents=True)
    write_model(folder / "tiny-Q8_0.gguf")
    write_all(start(folder / "words.gguf", "llama"))  # without weights, as those that llama.cpp's tests read
    assert "hf:acme/tiny-GGUF:words" not in suggested()
    found = suggested()["hf:acme/tiny-GGUF:Q8_0"]
    assert (found.here, found.place, found.model.tied, found.model.layers) == (True, "cpu", True, 4)
    assert (found.model.output, found.model.experts) == (512 * 128, 1)
    assert found.model.token_bytes == 4 * 2 * 128 * 2


def test_a_cpu_is_measured_for_what_is_in_memory(gpu: Callable[[float], None], monkeypatch: pytest.MonkeyPatch) -> None:
    measured = list[float]()
    for free in (80.0, 16.0):
        gpu(free)
        monkeypatch.setattr(suggesting, "cpu_speed", lambda free=free: measured.append(free))
        suggested()
    assert measured == [16.0]


def test_a_part_on_a_gpu_is_told_and_takes_the_sum_of_its_parts(
    gpu: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = Speed(1e14, 1e12, 1e-7, 1e-4, 1e10)
    monkeypatch.setattr(suggesting, "gpu_speed", lambda experts: fast)
    gpu(16)
    found = suggested()
    partly, forecast = found["qwen3-coder-30b-a3b"], found["qwen3-coder-30b-a3b"].forecast
    assert (partly.place, partly.origin) == ("resident", "forecast")
    assert partly.split == "experts of 23 of 48 layers in memory"
    copied = 17_650_000_000 * 23 // 48
    assert forecast
    assert (forecast.batch, forecast.batch_s) == (2048, pytest.approx(copied / 1e10))
    assert forecast.reads_s(2049) - forecast.reads_s(2048) == pytest.approx(copied / 1e10 + forecast.token_s)
    assert forecast.answer_s > copied * 8 / 128 / 3e10 + 48 * 1e-4
    assert (found["qwen2.5-coder-1.5b"].forecast or forecast).batch_s == 0
