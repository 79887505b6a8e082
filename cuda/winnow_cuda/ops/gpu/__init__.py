"""The same ops on a CUDA device: one op a file, named as in `winnow_cuda.ops`, where its NumPy twin is.

Importing these modules needs numba-cuda (the extra `cuda`) but no device; `winnow_cuda.device` runs them.
"""
