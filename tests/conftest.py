"""What all tests share."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Commands answer in their own process unless a test is about the shared server, which would outlive it.
os.environ["WINNOW_SERVER"] = "0"

# How long an example takes says how busy the machine is. The first text costs seconds where no cache is left by
# an earlier run.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

_ALL_CORES = ("tests/real/", "tests/training/")  # folders of tests that keep every core busy


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What keeps every core busy comes last, so that nothing else is left to run beside it."""
    items.sort(key=lambda item: item.nodeid.startswith(_ALL_CORES))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n 2` two processes take a file each in turn, and one of them all that keeps every core busy."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "all cores" if nodeid.startswith(_ALL_CORES) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return ByFile(config, log)
