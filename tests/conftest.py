"""What all tests share."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from winnow_engine.storage.store import Store
from winnow_lsp.process import prepare

# As the command does, before Numba reads where compiled code is kept and before llama.cpp starts its threads.
prepare()

# Commands answer in their own process unless a test is about the shared server, which would outlive it.
os.environ["WINNOW_SERVER"] = "0"

# How long an example takes says how busy the machine is, and whether an earlier run has left a cache.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

_LONG = ("tests/real/", "tests/training/", "tests/editors/")  # folders of tests that take minutes a file
_WORKER = os.environ.get("PYTEST_XDIST_WORKER")

# With `-n 2` each of the two processes has half of the cores, and so has what it starts: threads that wait for one
# another spin, and with more of them than cores that takes ten times as long, not twice.
if _WORKER is not None and sys.platform == "linux":
    _cores, _count = sorted(os.sched_getaffinity(0)), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.sched_setaffinity(0, _cores[int(_WORKER.removeprefix("gw")) :: _count] or _cores)
    threadpool_limits(len(os.sched_getaffinity(0)))  # of OpenBLAS, whose threads were started before


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n 2`, what takes minutes comes first; editors last of that, as CI builds VS Code's extension meanwhile."""
    if _WORKER is not None:
        items.sort(key=lambda item: [not item.nodeid.startswith(folder) for folder in _LONG])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n 2` two processes take a file each in turn."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "index.sqlite")) as store:
        yield store
