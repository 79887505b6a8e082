"""From a kernel's Python source to machine code, and the PTX instructions that Numba has no name for.

Importing these modules needs numba-cuda (the extra `cuda`) but no device.
"""

import importlib

import numpy as np

from winnow_cuda.numba_settings import ignore_settings_file


def _load_numba_cuda() -> None:
    """Import numba-cuda; version 0.30 needs a name that NumPy 2.5 lacks, there for the import alone."""
    if hasattr(np, "row_stack"):
        ignore_settings_file("numba.cuda.core.config")
        return
    np.row_stack = np.vstack
    try:
        ignore_settings_file("numba.cuda.core.config")
        importlib.import_module("numba.cuda.np.arrayobj")
    finally:
        del np.row_stack


ignore_settings_file("numba.core.config")
_load_numba_cuda()
