"""Build a wheel of llama-cpp-python for all processors of this system, into an index that pip and uv read.

    python wheels.py OUT [FOLDER]
    python wheels.py --cuda OUT [FOLDER [ARCHITECTURES]]
    python wheels.py --index OUT WHEELS

The index is `OUT/whl/cpu`, laid out as llama-cpp-python's own. On x86-64 the wheel has a library for each kind of
processor, with Winnow's products, and the one for this processor is loaded. FOLDER keeps what was compiled. The
version has a local label, by which pip prefers it to the version that it is built from. Needs git, and uv on Linux with
x86-64.
`--cuda` makes that wheel too and, of it, one for NVIDIA's GPUs in `OUT/whl/cu130`: `cuda_wheel.py` says how.
ARCHITECTURES are CMake's.
`--index` adds all wheels below a folder to an index, such as those of a release.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import build
import cuda_wheel
import patches

LABEL = "winnow1"
"""Raised whenever other sources are published for the same version of llama-cpp-python."""
_NAME, _VERSION = build.LLAMA.split("==")
# Backends are libraries of their own: beside Python's program, where llama.cpp would look, there are none.
_LOAD_BACKENDS = """

def _load_backends():
    from llama_cpp import _ggml, _logger

    level = _logger.logger.level
    _logger.set_verbose(False)
    if _ggml.libggml.ggml_backend_reg_count() == 0:
        _ggml.libggml.ggml_backend_load_all_from_path(str(_ggml.libggml_base_path).encode())
    _logger.logger.setLevel(level)


_load_backends()
"""


def main() -> None:
    """Do what the arguments say."""
    task = next((one for one in sys.argv[1:2] if one.startswith("--")), "")
    arguments = sys.argv[2 if task else 1 :]
    if task not in ("", "--cuda", "--index") or len(arguments) < (2 if task == "--index" else 1):
        sys.exit(__doc__)
    index = Path(arguments[0]) / "whl"
    if task == "--index":
        for wheel in sorted(Path(arguments[1]).rglob("*.whl")):
            add(wheel, index)
        return
    with tempfile.TemporaryDirectory(prefix="winnow-wheels-") as scratch:
        folder = Path(arguments[1] if len(arguments) > 1 else scratch).absolute()
        wheel = build_wheel(folder)
        print(add(wheel, index))
        if task == "--cuda":
            architectures = arguments[2] if len(arguments) > 2 else cuda_wheel.ARCHITECTURES
            library = cuda_wheel.library(folder, labelled_source(folder / patches.recipe()), architectures)
            print(add(cuda_wheel.joined(wheel, library, architectures), index))


def build_wheel(folder: Path) -> Path:
    """The wheel, made in a folder that keeps the sources, apart for other patches, and what is compiled of them."""
    folder /= patches.recipe()
    shutil.rmtree(folder / "wheel", ignore_errors=True)
    source = labelled_source(folder)
    compiler = build.Compiler(build.ZIG) if build.zig_runs_here() else build.choose({})
    options = options_for(sys.platform, platform.machine())
    made = build.compiled(
        str(source),
        compiler,
        options,
        build.describe(compiler, options),
        folder,
        f"--config-settings=build-dir={folder / 'build'}",
    )
    if not compiler.is_fetched:
        return made  # on Linux, auditwheel gives it the system's tag
    build.run([*build.tool("wheel>=0.45", "wheel"), "tags", "--remove", "--platform-tag", build.TAG, str(made)])
    return next(made.parent.glob("*.whl"))


def options_for(system: str, machine: str) -> list[str]:
    """CMake's options: all kinds of processors, or Metal on a Mac."""
    if system == "darwin":
        return ["-DGGML_NATIVE=OFF", "-DGGML_OPENMP=OFF", f"-DGGML_METAL={'ON' if machine == 'arm64' else 'OFF'}"]
    # llama.cpp looks into each library and closes it. zig's have no code that then runs what stands until exit.
    stays = ["-DCMAKE_MODULE_LINKER_FLAGS=-Wl,-z,nodelete"] if system == "linux" else []
    return [
        *stays,
        "-DGGML_NATIVE=OFF",
        "-DGGML_OPENMP=OFF",
        "-DGGML_BACKEND_DL=ON",
        "-DGGML_CPU_ALL_VARIANTS=ON",
        "-DCMAKE_INSTALL_BINDIR=llama_cpp/lib",
        "-DCMAKE_INSTALL_RPATH=$ORIGIN",
        "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
    ]


def labelled_source(folder: Path) -> Path:
    """The source distribution, with the label in its version, and backends loaded with the package."""
    source = folder / f"{_NAME.replace('-', '_')}-{_VERSION}"
    if not source.exists():
        unpack(build.LLAMA, folder)
        package = source / "llama_cpp" / "__init__.py"
        plain = package.read_text("utf-8")
        text = plain.replace(f'"{_VERSION}"', f'"{_VERSION}+{LABEL}"')
        assert text != plain, f"{package} names no version"
        package.write_text(text + _LOAD_BACKENDS, "utf-8")
    return source


def unpack(requirement: str, folder: Path) -> None:
    """Have pip fetch a source distribution, and unpack it."""
    build.run([*build.PIP, "download", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), requirement])
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")


def add(wheel: Path, indexes: Path) -> Path:
    """Copy a wheel into the index that it is for, and write that one's pages anew. Returns the copy."""
    index = indexes / (cuda_wheel.NAME if f".{cuda_wheel.NAME}-" in wheel.name else "cpu")
    project = index / wheel.name.partition("-")[0].replace("_", "-")
    project.mkdir(parents=True, exist_ok=True)
    copy = Path(shutil.copy(wheel, project))
    digests = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(project.glob("*.whl"))}
    (project / "index.html").write_text(page({f"{name}#sha256={digest}": name for name, digest in digests.items()}))
    names = sorted(file.parent.name for file in index.glob("*/index.html"))
    (index / "index.html").write_text(page({f"{name}/": name for name in names}))
    return copy


def page(links: Mapping[str, str]) -> str:
    """A page of an index: texts by where they lead."""
    shown = "".join(f'<a href="{link.replace("+", "%2B")}">{text}</a><br>\n' for link, text in links.items())
    return f"<!DOCTYPE html>\n<html><body>\n{shown}</body></html>\n"


if __name__ == "__main__":
    main()
