"""Which GPU llama.cpp is built for, besides the processor: what this machine has, and can compile for.

NVIDIA's CUDA is left to whoever names it in `$CMAKE_ARGS`: it takes ten times as long to compile. All this follows
llama.cpp's documentation and was not tried with such GPUs. That headers of Vulkan can be too old was: Debian 12's are.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# Mesa's and AMD's drivers have a node here for each GPU, ROCm's another.
_RENDERERS, _ROCM = Path("/dev/dri"), Path("/dev/kfd")
_INCLUDES = (Path("/usr/include"), Path("/usr/local/include"))
_NEEDED = "VK_EXT_layer_settings"  # llama.cpp's code uses it; headers 1.3.239 lack it
_NAMED = re.compile(r"GGML_(CUDA|HIP|SYCL|VULKAN|METAL|OPENCL|CANN|MUSA)=")


def names_a_gpu(environment: Mapping[str, str]) -> bool:
    """Whether `$CMAKE_ARGS` settles which GPU to build for."""
    return _NAMED.search(environment.get("CMAKE_ARGS", "")) is not None


def has_wheel(environment: Mapping[str, str], found: Sequence[str]) -> bool:
    """Whether the index named has a wheel for this machine, with the options `found`: for Metal, or one of CUDA's."""
    suits = sys.platform == "darwin" or not found or "/whl/cu" in environment.get("WINNOW_WHEELS", "")
    return not names_a_gpu(environment) and suits


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
    kit = environment.get("VULKAN_SDK")
    includes = (Path(kit, "include"), Path(kit, "Include")) if kit else _INCLUDES
    has_kit = shutil.which("glslc") is not None and any(map(_is_new_enough, includes))
    return has_kit and (sys.platform == "win32" or any(_RENDERERS.glob("renderD*")))


def _is_new_enough(include: Path) -> bool:
    """Whether a folder has Vulkan's headers for C++ in a version that llama.cpp compiles with."""
    core = include / "vulkan" / "vulkan_core.h"
    has_both = core.is_file() and core.with_name("vulkan.hpp").is_file()
    return has_both and _NEEDED in core.read_text(errors="replace")
