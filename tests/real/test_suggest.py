"""The table of targets against the files, and the forecast against what they take here, in the threads' own time."""

import time
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.model import LlamaModel
from winnow_engine.models import cache, registry
from winnow_engine.models.target_table import KnownTarget, known_targets
from winnow_engine.targets import machine_speed
from winnow_engine.targets.machine_speed import cpu_speed, forecast
from winnow_engine.targets.placement import divided
from winnow_engine.targets.residency import expect, measure
from winnow_engine.targets.suggesting import described

pytestmark = pytest.mark.real_weights
HERE = [target for target in known_targets() if not target.source]
OPTIONS = TargetOptions(place="cpu")


@pytest.mark.parametrize("target", HERE, ids=lambda target: target.name)
def test_the_table_has_the_files_figures(target: KnownTarget) -> None:
    own = described(target.name, cache.path(target.name))
    names = ("parameters", "output", "tied", "layers", "token_bytes", "bytes")
    assert [getattr(target, name) for name in names] == [getattr(own, name) for name in names]
    assert target.prompt_parameters == own.prompt_parameters
    drafter = registry.find(registry.DEFAULT_DRAFTER)
    assert expect(drafter, target) == measure(cache.path(drafter.name), cache.path(target.name), OPTIONS)


@pytest.mark.parametrize("target", [one for one in HERE if one.parameters > 5e8], ids=lambda target: target.name)
def test_forecasts_are_within_twofold(target: KnownTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ratios = list[np.ndarray]()
    for turn in range(3):  # each turn forecasts and measures, as the machine's speed changes between turns
        monkeypatch.setattr(machine_speed, "cache_folder", lambda turn=turn: tmp_path / str(turn))
        said = forecast(target, divided(target, OPTIONS), 512, cpu_speed(), None)
        assert said
        ratios.append(np.divide((said.token_s, said.answer_s), _measured(target)))
    assert np.abs(np.log2(np.median(ratios, axis=0))).max() < 1, ratios


def _measured(target: KnownTarget) -> tuple[float, float]:
    """Seconds of a token of a prompt, and of the answer behind it."""
    model, times = LlamaModel(cache.path(target.name)), list[float]()
    context = LlamaContext(model, 2048, OPTIONS)
    for count in (128, 128, *[1] * 16):
        start = time.process_time()
        context.decode(np.arange(count, dtype=np.int32), want_logits=True)
        times.append((time.process_time() - start) / OPTIONS.threads)
    context.close()
    model.close()
    return min(times[:2]) / 128, median(times[2:])
