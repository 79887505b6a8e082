"""A short run of tests/bench/faults.py: each fault twice, at random moments."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "bench" / "faults.py"


@pytest.mark.skipif(sys.platform == "win32", reason="the script forks")
def test_the_index_survives_what_may_happen_to_it() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--times", "2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert set(outcomes) >= {"kill", "truncate", "flip", "disk_full", "read_only", "two_processes", "clock", "replace"}
    assert all(sum(found.values()) == 2 for found in outcomes.values())
