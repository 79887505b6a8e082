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

_EDITORS = "tests/editors/"
_LONG = ("tests/real/", "tests/training/", _EDITORS)  # folders of tests that take minutes a file
_WORKER = os.environ.get("PYTEST_XDIST_WORKER")


def _sharing(processes: int) -> int:
    """How many of them share the cores: of three or more the last runs the editors' tests, which mostly wait."""
    return processes - (processes > 2)


# Each of those that share the cores gets an equal part of them, as do its child processes: threads that wait for one
# another spin, and with more of them than cores that takes ten times as long, not twice.
if _WORKER is not None and sys.platform == "linux":
    _number, _count = int(_WORKER.removeprefix("gw")), _sharing(int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
    if _number < _count:
        _cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, _cores[_number::_count] or _cores)
    threadpool_limits(len(os.sched_getaffinity(0)))  # of OpenBLAS, whose threads were started before


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several processes, what takes minutes comes first."""
    if _WORKER is not None:
        items.sort(key=lambda item: [not item.nodeid.startswith(folder) for folder in _LONG])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Processes take a file each in turn; while three or more run, the last takes those of editors, and no other."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _assign_work_unit(self, node: Any) -> None:
            if len(self.nodes) > 2:
                last = max(self.nodes, key=lambda one: int(one.gateway.id.removeprefix("gw")))
                own = [file for file in self.workqueue if file.startswith(_EDITORS) == (node is last)]
                if not own:
                    node.shutdown()
                    return
                self.workqueue.move_to_end(own[0], last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "index.sqlite")) as store:
        yield store
