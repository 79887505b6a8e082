"""Which GPU llama.cpp is built for, besides the processor: what this machine has, and can compile for.

NVIDIA's CUDA is left to whoever names it in `$CMAKE_ARGS`: it takes ten times as long to compile. Metal and ROCm follow
llama.cpp's documentation and were not tried on such machines; Vulkan was, on Linux with Mesa's software device.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

# Mesa's and AMD's drivers have a node here for each GPU, ROCm's another.
_RENDERERS, _ROCM = Path("/dev/dri"), Path("/dev/kfd")
_VULKAN_HEADERS = (Path("/usr/include/vulkan/vulkan.hpp"), Path("/usr/local/include/vulkan/vulkan.hpp"))
_NAMED = re.compile(r"GGML_(CUDA|HIP|SYCL|VULKAN|METAL|OPENCL|CANN|MUSA)=")


def names_a_gpu(environment: Mapping[str, str]) -> bool:
    """Whether `$CMAKE_ARGS` settles which GPU to build for."""
    return _NAMED.search(environment.get("CMAKE_ARGS", "")) is not None


def options(environment: Mapping[str, str]) -> list[str]:
    """CMake's options for the GPU; none if there is no GPU, nothing to compile for it with, or one is named already."""
    if names_a_gpu(environment):
        return []
    if sys.platform == "darwin":
        # Intel's Macs have GPUs that llama.cpp advises against.
        return [f"-DGGML_METAL={'ON' if platform.machine() == 'arm64' else 'OFF'}"]
    if _has_rocm():
        return ["-DGGML_HIP=ON"]
    return ["-DGGML_VULKAN=ON"] if _has_vulkan(environment) else []


def _has_rocm() -> bool:
    return sys.platform == "linux" and _ROCM.exists() and shutil.which("hipcc") is not None


def _has_vulkan(environment: Mapping[str, str]) -> bool:
    """Whether there are headers and the compiler for shaders and, where the system tells, a GPU."""
    kit = Path(environment["VULKAN_SDK"]) if environment.get("VULKAN_SDK") else None
    beside = (kit / "include/vulkan/vulkan.hpp", kit / "Include/vulkan/vulkan.hpp") if kit else ()
    has_kit = shutil.which("glslc") is not None and any(one.is_file() for one in (*beside, *_VULKAN_HEADERS))
    return has_kit and (sys.platform == "win32" or any(_RENDERERS.glob("renderD*")))
