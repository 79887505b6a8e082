"""Add ggml's CUDA library to a wheel of llama-cpp-python, compiled by what NVIDIA publishes for pip.

The wheel needs CUDA's own libraries from there too, and finds them beside its package. `$CXX`, else `c++`, compiles
the host's part, for systems whose glibc and libstdc++ are as new as this one's. `$CMAKE_BUILD_PARALLEL_LEVEL` says how
many files are compiled at once.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import sys
import zipfile
from pathlib import Path

import build

VERSION = "13.0"
NAME = f"cu{VERSION.replace('.', '')}"
"""Of the index, and at the end of the wheel's label."""
# The GPUs that our products are for, and code that drivers translate for those between Hopper and what comes.
ARCHITECTURES = "86-real;89-real;90;120-real"
REQUIREMENTS = ("nvidia-cublas>=13.0,<14", "nvidia-cuda-runtime>=13.0,<14")
_KIT = ("cuda-nvcc", "nvvm", "cuda-crt", "cuda-cccl", "cuda-runtime", "cublas")
# From llama_cpp/lib to where those packages are.
_LIBRARIES = "$ORIGIN/../../nvidia/cu13/lib"


def library(folder: Path, source: Path, architectures: str) -> Path:
    """ggml's library for GPUs, compiled from llama-cpp-python's sources, beside them; `folder` keeps the compiler."""
    made, cmake = source.parent / f"cuda-{architectures.replace(';', '-')}", build.tool("cmake>=3.28,<5", "cmake")
    build.run([*cmake, "-S", str(source), "-B", str(made), *options(toolkit(folder / "cuda"), architectures)])
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
    build.run([*cmake, "--build", str(made), "--target", "ggml-cuda", "--parallel", jobs])
    return made / "bin" / "libggml-cuda.so"


def toolkit(folder: Path) -> Path:
    """CUDA's compiler, headers and libraries as pip installs them, with the names that CMake looks for."""
    kit = folder / "nvidia" / "cu13"
    if not (kit / "lib64").exists():
        wanted = [f"nvidia-{package}=={VERSION}.*" for package in _KIT]
        build.run([*build.PIP, "install", "--no-deps", "--only-binary", ":all:", "--target", str(folder), *wanted])
        for name in ("cudart", "cublas"):
            (kit / "lib" / f"lib{name}.so").symlink_to(f"lib{name}.so.13")
        # Of the driver, which is where GPUs are, the name is enough to link.
        driver = kit / "lib" / "stubs" / "libcuda.so"
        driver.parent.mkdir()
        empty = ["-shared", "-nostdlib", "-Wl,-soname,libcuda.so.1", "-x", "c", os.devnull]
        build.run([_compiler(), *empty, "-o", str(driver)])
        (kit / "lib64").symlink_to("lib")
    return kit


def _compiler() -> str:
    return os.environ.get("CXX", "c++")


def options(kit: Path, architectures: str) -> list[str]:
    """CMake's options."""
    recipe = Path(__file__).with_name("libraries.cmake")
    linked = f"-Wl,--no-as-needed,--exclude-libs,ALL,-s '-Wl,-rpath,{_LIBRARIES}'"
    return [
        f"-DCMAKE_PROJECT_llama_cpp_INCLUDE={recipe}",
        f"-DPython_EXECUTABLE={sys.executable}",
        # Nothing is installed.
        f"-DWINNOW_BUILD_NOTE={recipe}",
        f"-DSKBUILD_PLATLIB_DIR={kit}",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DGGML_NATIVE=OFF",
        "-DGGML_OPENMP=OFF",
        "-DGGML_BACKEND_DL=ON",
        "-DGGML_CUDA=ON",
        "-DGGML_CUDA_NCCL=OFF",
        "-DGGML_CUDA_FA_QUANTS=f16-f16;q8_0-q8_0;q4_0-q4_0",  # the setting kvType
        f"-DCMAKE_CUDA_ARCHITECTURES={architectures}",
        f"-DCMAKE_CUDA_COMPILER={kit / 'bin' / 'nvcc'}",
        f"-DCMAKE_CUDA_HOST_COMPILER={_compiler()}",
        f"-DCUDAToolkit_ROOT={kit}",
        "-DCMAKE_CUDA_RUNTIME_LIBRARY=Shared",
        f"-DCMAKE_MODULE_LINKER_FLAGS={linked}",
    ]


def joined(wheel: Path, library: Path, architectures: str) -> Path:
    """The wheel with the library, made beside it: with a label of its own, and CUDA's libraries required."""
    with zipfile.ZipFile(wheel) as opened:
        files = {name: opened.read(name) for name in opened.namelist() if not name.endswith(("/", "/RECORD"))}
    name, plain, *_ = wheel.name.split("-")
    version, tag = f"{plain}.{NAME}", f"manylinux_{platform.libc_ver()[1].replace('.', '_')}_x86_64"
    old, new = (f"{name}-{label}.dist-info" for label in (plain, version))
    needs = "".join(f"Requires-Dist: {requirement}\n" for requirement in REQUIREMENTS)
    replace(files, "llama_cpp/__init__.py", f'"{plain}"', f'"{version}"')
    replace(files, f"{old}/METADATA", f"\nVersion: {plain}\n", f"\nVersion: {version}\n{needs}")
    replace(files, f"{old}/WHEEL", build.TAG, tag)
    files[f"llama_cpp/lib/{build.NOTE}"] += f"CUDA {VERSION}, {architectures}\n".encode()
    files["llama_cpp/lib/libggml-cuda.so"] = library.read_bytes()
    files = {name.replace(old, new): data for name, data in files.items()}
    made = library.with_name(wheel.name.replace(plain, version).replace(build.TAG, tag))
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr(f"{new}/RECORD", "".join(map(recorded, files.items())) + f"{new}/RECORD,,\n")
    return made


def recorded(file: tuple[str, bytes]) -> str:
    """The line of a file in a wheel's RECORD."""
    name, data = file
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def replace(files: dict[str, bytes], name: str, old: str, new: str) -> None:
    """Replace what a file has once."""
    assert files[name].count(old.encode()) == 1, f"{name} does not have {old!r} once"
    files[name] = files[name].replace(old.encode(), new.encode())
