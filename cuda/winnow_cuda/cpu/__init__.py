"""The backend that runs everywhere: an encoder on the CPU."""

from winnow_cuda.numba_settings import ignore_settings_file

ignore_settings_file("numba.core.config")
