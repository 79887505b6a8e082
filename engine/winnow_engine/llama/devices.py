"""GPUs that this build of llama.cpp can use by itself: through CUDA, Metal, Vulkan or ROCm."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

from llama_cpp import _ggml
from llama_cpp._ctypes_extensions import load_shared_library

_GPU, _INTEGRATED_GPU = 1, 2  # enum ggml_backend_dev_type


@dataclass(frozen=True, slots=True)
class LlamaGpu:
    """A GPU in ggml's words, such as `Apple M2`, and the bytes of memory it has free."""

    name: str
    free: int


def best_gpu() -> LlamaGpu | None:
    """The GPU with the most free memory; None where this build or this machine has none."""
    return max(_gpus(), key=lambda gpu: gpu.free, default=None)


def runs_cuda() -> bool:
    """Whether this build of llama.cpp has CUDA."""
    _ggml.libggml.ggml_backend_reg_by_name.restype = ctypes.c_void_p
    return bool(_ggml.libggml.ggml_backend_reg_by_name(b"CUDA"))


def cpu_memory() -> int:
    """ggml's handle of main memory."""
    base = load_shared_library("ggml-base", _ggml.libggml_base_path)
    base.ggml_backend_cpu_buffer_type.restype = ctypes.c_void_p
    return int(base.ggml_backend_cpu_buffer_type())


def _gpus() -> Iterator[LlamaGpu]:
    # Two libraries: on Windows one does not give the other's functions.
    devices, base = _ggml.libggml, load_shared_library("ggml-base", _ggml.libggml_base_path)
    devices.ggml_backend_dev_count.restype = ctypes.c_size_t
    devices.ggml_backend_dev_get.restype = ctypes.c_void_p
    devices.ggml_backend_dev_get.argtypes = (ctypes.c_size_t,)
    base.ggml_backend_dev_type.argtypes = base.ggml_backend_dev_description.argtypes = (ctypes.c_void_p,)
    base.ggml_backend_dev_description.restype = ctypes.c_char_p
    base.ggml_backend_dev_memory.argtypes = (ctypes.c_void_p, *[ctypes.POINTER(ctypes.c_size_t)] * 2)
    for number in range(devices.ggml_backend_dev_count()):
        device = devices.ggml_backend_dev_get(number)
        if base.ggml_backend_dev_type(device) in (_GPU, _INTEGRATED_GPU):
            free, total = ctypes.c_size_t(), ctypes.c_size_t()
            base.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
            yield LlamaGpu(base.ggml_backend_dev_description(device).decode(), free.value)
