"""A short run of `winnow bench faults`: each fault of the index twice, at random moments."""

import json
import subprocess
import sys

import pytest

from winnow_research.faults.recording import available

QUICK = ["kill", "truncate", "flip", "remove", "disk_full", "read_only", "two_processes", "clock", "replace"]


@pytest.mark.skipif(sys.platform == "win32", reason="the script forks")
@pytest.mark.parametrize(
    ("kinds", "times"),
    [
        pytest.param(QUICK, 2, id="the index"),
        pytest.param(["shared_damage"], 2, id="a shared index"),
        pytest.param(
            ["power_cut"], 2, marks=pytest.mark.skipif(not available(), reason="strace may not trace"), id="power"
        ),
    ],
)
def test_the_index_survives_what_may_happen_to_it(kinds: list[str], times: int) -> None:
    chosen = [part for kind in kinds for part in ("--kind", kind)]
    command = [sys.executable, "-m", "winnow_lsp", "bench", "faults", "--times", str(times), *chosen]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert {kind: sum(found.values()) for kind, found in outcomes.items()} == dict.fromkeys(kinds, times)
