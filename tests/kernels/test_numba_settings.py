"""A file in the working directory does not tell Numba what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import importlib, os, sys
exists = os.path.exists
importlib.import_module(sys.argv[1])
import numba
assert os.path.exists is exists
print(numba.njit(lambda x: x + 1)(1))
"""


@pytest.mark.parametrize(
    "module",
    ["winnow_cuda.ops.elementwise", "winnow_cuda.cpu.encoder", "winnow_cuda.compiler.kernel", "winnow_cuda.backends"],
)
def test_whatever_is_imported_first_a_settings_file_is_not_read(module: str, tmp_path: Path) -> None:
    (tmp_path / ".numba_config.yaml").write_text("- no settings\n")  # which keeps Numba from loading
    done = subprocess.run([sys.executable, "-c", PROGRAM, module], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2\n"
