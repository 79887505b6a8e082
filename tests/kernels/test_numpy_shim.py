"""numba-cuda loads with a NumPy that no longer has the names it wants."""

import subprocess
import sys

PROGRAM = """
import warnings
import numpy as np
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    vars(np).pop("row_stack", None)
    hide = np.__getattr__
    def without(name):
        if name == "row_stack":
            raise AttributeError(name)
        return hide(name)
    np.__getattr__ = without
assert not hasattr(np, "row_stack")
from winnow_cuda.compiler.kernel import compile_kernel
from winnow_cuda.ops.gpu.elementwise import embedding
assert not hasattr(np, "row_stack"), "NumPy is left as it was"
print(len(compile_kernel(embedding(64), (8, 6))[0]))
"""


def test_kernels_compile_without_row_stack() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
