"""The same ops on a CUDA device: one op a file, named as in `winnow_cuda.ops`, where its NumPy twin is.

Importing these modules needs numba-cuda (the extra `cuda`) but no device; `winnow_cuda.device` runs them.
"""

import numpy as np

if not hasattr(np, "row_stack"):  # NumPy 2.5 took the old name away, which numba-cuda 0.30 still imports
    np.row_stack = np.vstack
