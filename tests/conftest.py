"""What all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Commands answer in their own process unless a test is about the shared server, which would outlive it.
os.environ["WINNOW_SERVER"] = "0"

# How long an example takes says how busy the machine is. The first text costs seconds where no cache is left by
# an earlier run.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

_TESTS = Path(__file__).parent
_ALL_CORES = {"real", "training"}  # folders of tests that keep every core busy


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n 2 --dist loadgroup` files take turns in two processes, at last what needs all cores in one."""
    items.sort(key=_needs_all_cores)
    for item in items:
        item.add_marker(pytest.mark.xdist_group("all cores" if _needs_all_cores(item) else item.path.as_posix()))


def _needs_all_cores(item: pytest.Item) -> bool:
    return item.path.relative_to(_TESTS).parts[0] in _ALL_CORES
