"""The table of targets against the files, and the forecast against what they take here, in the threads' own time."""

import time

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.model import LlamaModel
from winnow_engine.models import cache, registry
from winnow_engine.models.target_table import KnownTarget, known_targets
from winnow_engine.targets.machine_speed import forecast, kind_of, speeds
from winnow_engine.targets.placement import divided
from winnow_engine.targets.residency import expect, measure
from winnow_engine.targets.suggesting import described

pytestmark = pytest.mark.real_weights
HERE = [target for target in known_targets() if not target.source]
OPTIONS = TargetOptions(place="cpu")


@pytest.mark.parametrize("target", HERE, ids=lambda target: target.name)
def test_the_table_has_the_files_figures(target: KnownTarget) -> None:
    own = described(target.name, cache.path(target.name))
    names = ("parameters", "output", "tied", "layers", "token_bytes", "context", "bytes", "narrow")
    assert [getattr(target, name) for name in names] == [getattr(own, name) for name in names]
    assert target.prompt_parameters == own.prompt_parameters
    drafter = registry.find(registry.DEFAULT_DRAFTER)
    assert expect(drafter, target) == measure(cache.path(drafter.name), cache.path(target.name), OPTIONS)


@pytest.mark.parametrize("target", HERE, ids=lambda target: target.name)
def test_the_forecast_is_right_within_a_quarter(target: KnownTarget) -> None:
    (speed,) = speeds({kind_of(target)}, on_gpu=False).values()
    expected = forecast(target, divided(target, OPTIONS), 512, speed, None)
    assert expected
    assert (expected.token_s, expected.answer_s) == pytest.approx(_measured(target), rel=0.25)


def _measured(target: KnownTarget) -> tuple[float, float]:
    """Seconds of a token of a prompt, and of the answer behind it."""
    model, times = LlamaModel(cache.path(target.name)), list[float]()
    context = LlamaContext(model, 2048, OPTIONS)
    for count in (256, 256, *[1] * 8):
        start = time.process_time()
        context.decode(np.arange(count, dtype=np.int32), want_logits=True)
        times.append((time.process_time() - start) / OPTIONS.threads)
    context.close()
    model.close()
    return min(times[:2]) / 256, min(times[2:])
