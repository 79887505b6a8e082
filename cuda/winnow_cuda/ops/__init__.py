"""The ops on the CPU. `winnow_cuda.ops.gpu` has them under the same names as kernels for a CUDA device."""

from winnow_cuda.numba_settings import ignore_settings_file

ignore_settings_file("numba.core.config")

from winnow_cuda.ops._cache import share_compiled_ops  # noqa: E402 - imports Numba

share_compiled_ops()
