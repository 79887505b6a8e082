"""The same ops on a CUDA device, named as in `winnow_cuda.ops`. `*_hopper` holds a variant for sm_90a.

Importing these modules needs numba-cuda (the extra `cuda`) but no device; `winnow_cuda.device` runs them.
"""
