"""Several drafters, in processes and on Ray, make the keys that one makes, also if one of them is killed.

The drafter is a random model of a few thousand weights.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.errors import ClusterError, UnsupportedModelError
from winnow_engine.fleet.fleet import Fleet
from winnow_engine.fleet.on_ray import RayFleet
from winnow_engine.fleet.processes import ProcessWorker
from winnow_engine.fleet.worker import encode
from winnow_research.random_models import write_model

from .drafters import OneDrafter, deal_small_chunks, encoded, needs_ray


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="module")
def one(model: Path) -> OneDrafter:
    return OneDrafter(model)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    deal_small_chunks(monkeypatch)


@pytest.mark.parametrize("count", [1, 2])
def test_processes_make_the_keys_of_one_drafter(one: OneDrafter, count: int) -> None:
    one.check_processes(count)


def test_a_killed_process_is_replaced(one: OneDrafter) -> None:
    one.check_killed_processes()


def test_another_drafter_is_refused(one: OneDrafter) -> None:
    def open_worker(_: int) -> ProcessWorker:
        return ProcessWorker(one.model, "another", 1, None)

    made = Fleet(1, open_worker, lambda texts: encode(one.drafter, texts), "cpu")
    with closing(made), pytest.raises(UnsupportedModelError, match="another drafter"):
        list(encoded(made))


@needs_ray
def test_two_ray_workers_make_the_keys_of_one_drafter_also_if_one_is_killed(one: OneDrafter) -> None:
    one.check_ray()


@needs_ray
def test_a_cluster_that_is_not_there_is_told(one: OneDrafter) -> None:
    with pytest.raises(ClusterError, match=r"127\.0\.0\.1:9 cannot be reached"):
        RayFleet(str(one.model), one.drafter, 1, "127.0.0.1:9")


def test_without_ray_its_extra_is_named(one: OneDrafter, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr("winnow_engine.fleet.on_ray.importlib.import_module", missing)
    with pytest.raises(ClusterError, match=r"winnow-lsp\[ray\]"):
        RayFleet(str(one.model), one.drafter, 1, None)
