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
_ONE_AT_A_TIME = {"real", "training"}  # folders of tests that keep all cores busy


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n 2 --dist loadgroup` one process has the tests that need all cores, the other one the rest by file."""
    for item in items:
        folder = item.path.relative_to(_TESTS).parts[0]
        item.add_marker(pytest.mark.xdist_group("cores" if folder in _ONE_AT_A_TIME else item.path.as_posix()))
