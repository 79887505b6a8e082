"""Install llama-cpp-python alone into this Python's environment, built for this processor by the best compiler at hand.

    python build.py

The compiler is `$CC` and `$CXX` where they are set, else clang 17 or newer, else zig's clang, which pip fetches for the
build alone, else what CMake finds. So no compiler need be installed. `gpus.py` says for which GPU; if that build fails,
there is one without. Only the libraries that are loaded are built, for the instruction sets of this processor, by name:
gcc 12 with GGML_NATIVE makes a library that crashes on processors with AMX. Wheels are kept in Winnow's cache folder,
by all that they depend on, so that the next virtual environment takes seconds. `$CMAKE_ARGS` is added to the options,
and may overrule them.

Runs before anything is installed: Python's standard library only.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import gpus
import patches

LLAMA = "llama-cpp-python==0.3.36"
ZIG = "ziglang==0.17.1"
NOTE = "winnow-build.txt"
_HERE = Path(__file__).resolve().parent
_OLDEST_CLANG = 17
_NEWEST_CLANG_TRIED = range(25, _OLDEST_CLANG - 1, -1)
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
# What GGML_NATIVE=OFF takes for granted, and what is named where a processor has all of it.
_ALWAYS = {"SSE42": "sse4_2", "AVX": "avx", "AVX2": "avx2", "BMI2": "bmi2", "FMA": "fma", "F16C": "f16c"}
_AVX512 = {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd", "avx512vbmi", "avx512_vnni"}
# zig builds against the headers of this glibc: that of Debian 10 and of manylinux_2_28.
GLIBC = "2.28"
# What zig brings for other systems: four of five files, and ten seconds to write and delete.
_OTHER_SYSTEMS = re.compile(
    r"ziglang/lib/(docs/|libtsan/|libc/(?!glibc/|include/(any-linux-any|generic-glibc|x86-linux-any|x86-linux-gnu)/))"
)
TAG = f"manylinux_{GLIBC.replace('.', '_')}_x86_64"


# Of what a command that failed wrote.
_SHOWN, _WIDTH = 20, 300


class BuildError(Exception):
    """llama.cpp cannot be built; the message says what to do."""


@dataclass(frozen=True)
class Compiler:
    """What compiles: its identity, which the cache goes by, and the commands, empty if CMake is to find them."""

    identity: str
    cc: Sequence[str] = ()
    cxx: Sequence[str] = ()
    options: Sequence[str] = ()

    @property
    def is_fetched(self) -> bool:
        """Whether it is zig's, which pip must fetch first."""
        return self.identity == ZIG


def main() -> None:
    """Build or take from the cache, and install, unless this version is installed already, however built."""
    if f"llama-cpp-python=={installed_version()}" == LLAMA:
        return
    gpu = gpus.options(os.environ)
    if gpus.has_wheel(os.environ, gpu) and fetched(os.environ.get("WINNOW_WHEELS", "")):
        return
    try:
        wheel = wheel_for(gpu)
    except BuildError as error:
        if not gpu:
            raise
        print(f"{error}\nllama.cpp was not built with {' '.join(gpu)}: it is built for the processor alone", flush=True)
        wheel = wheel_for([])
    run([*PIP, "install", "--no-deps", str(wheel)])


def fetched(index: str) -> bool:
    """Install the wheel of an index that `wheels.py` made. False if none is named, or it has none for this system."""
    if not index:
        return False
    print(f"fetching {LLAMA} from {index}", flush=True)
    try:
        run([*PIP, "install", "--no-deps", "--only-binary", ":all:", "--index-url", index, LLAMA])
    except BuildError as error:
        print(f"{error}\nllama.cpp is built here instead", flush=True)
        return False
    return True


def wheel_for(gpu: Sequence[str]) -> Path:
    """The wheel with these options for a GPU, from the cache or built. Raises BuildError."""
    compiler = choose(os.environ, gpu)
    options = [*instruction_sets(), *compiler.options, *gpu, *shlex.split(os.environ.get("CMAKE_ARGS", ""))]
    note = describe(compiler, options)
    found = cached_wheel(note)
    if found is None:
        takes = "10 to 30 minutes with Vulkan or ROCm" if gpu and sys.platform != "darwin" else "1 to 3 minutes"
        print(f"building {LLAMA} with {compiler.identity} ({takes} on 2 cores)", flush=True)
    return found or build(compiler, options, note)


def choose(environment: Mapping[str, str], gpu: Sequence[str] = ()) -> Compiler:
    """The compiler to use, with these options for a GPU."""
    if "CC" in environment or "CXX" in environment:
        cc, cxx = environment.get("CC", "cc"), environment.get("CXX", "c++")
        return Compiler(f"{version(shlex.split(cc))} / {version(shlex.split(cxx))}")
    if gpu or gpus.names_a_gpu(environment):
        return Compiler(version(["cc"]))  # a GPU's compiler goes with the system's own
    if found := system_clang():
        return found
    return Compiler(ZIG, options=("-DGGML_OPENMP=OFF",)) if zig_runs_here() else Compiler(version(["cc"]))


def system_clang() -> Compiler | None:
    """The newest clang on PATH, if it is new enough and comes with its C++ half."""
    for suffix in ("", *(f"-{number}" for number in _NEWEST_CLANG_TRIED)):
        cc, cxx = shutil.which(f"clang{suffix}"), shutil.which(f"clang++{suffix}")
        if cc and cxx and clang_version(said := version([cc])) >= _OLDEST_CLANG:
            return Compiler(said, [cc], [cxx])
    return None


def clang_version(said: str) -> int:
    """The major version in the first line of `clang --version`, or 0."""
    found = re.search(r"clang version (\d+)", said)
    return int(found[1]) if found else 0


def zig_runs_here() -> bool:
    """Whether there is a wheel of zig that builds for this machine, tried on Linux with glibc on x86-64 only."""
    return sys.platform == "linux" and platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"


def version(command: Sequence[str]) -> str:
    """The first line of a compiler's `--version`, or the command if it says nothing."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return shlex.join(command)
    return (done.stdout.splitlines() or [shlex.join(command)])[0]


def instruction_sets(cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """CMake's options for the instruction sets that llama.cpp has kernels for and this processor has."""
    options = ["-DGGML_NATIVE=OFF"]
    has = processor_features(cpuinfo.read_text() if cpuinfo.is_file() else "")
    if not has:
        return options  # not x86: what llama.cpp itself takes for granted
    options += [f"-DGGML_{name}=OFF" for name, feature in _ALWAYS.items() if feature not in has]
    if has >= _AVX512:
        options += ["-DGGML_AVX512=ON", "-DGGML_AVX512_VBMI=ON", "-DGGML_AVX512_VNNI=ON"]
    return options


def processor_features(cpuinfo: str) -> set[str]:
    """The flags that Linux reports for the first processor."""
    found = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    return set(found[1].split()) if found else set()


def describe(compiler: Compiler, options: Iterable[str]) -> str:
    """All that a build depends on."""
    flags = [f"{name}={os.environ[name]}" for name in ("CFLAGS", "CXXFLAGS", "LDFLAGS") if name in os.environ]
    machine = f"{platform.system()} {platform.machine()} {platform.libc_ver()[0]}"
    return "\n".join([LLAMA, compiler.identity, machine, *options, *flags, f"recipe {patches.recipe()}"]) + "\n"


def installed_version() -> str | None:
    """The version of llama-cpp-python in this environment, without the label of a wheel of ours."""
    try:
        return metadata.version("llama-cpp-python").partition("+")[0]
    except metadata.PackageNotFoundError:
        return None


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where wheels are kept: as engine/winnow_engine/storage/folders.py, without platformdirs."""
    if "WINNOW_CACHE_DIR" in environment:
        return Path(environment["WINNOW_CACHE_DIR"]).expanduser() / "wheels"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/winnow/wheels").expanduser()
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or "~/AppData/Local").expanduser() / "winnow/winnow/Cache/wheels"
    return Path(environment.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "winnow" / "wheels"


def wheel_folder(note: str) -> Path:
    """Where the wheel of a build is kept."""
    return cache_folder() / hashlib.sha256(note.encode()).hexdigest()[:16]


def cached_wheel(note: str) -> Path | None:
    """The wheel that was built like this before."""
    return next(wheel_folder(note).glob("*.whl"), None)


def build(compiler: Compiler, options: Sequence[str], note: str) -> Path:
    """Build a wheel and keep it in the cache."""
    with tempfile.TemporaryDirectory(prefix="winnow-build-") as name:
        return keep(compiled(LLAMA, compiler, options, note, Path(name)), wheel_folder(note))


def compiled(source: str, compiler: Compiler, options: Sequence[str], note: str, scratch: Path, *more: str) -> Path:
    """The wheel of `source`, as pip takes it with its options `more`, made in `scratch`."""
    if not shutil.which("git"):
        raise BuildError("git is needed to patch llama.cpp: install it")
    if compiler.is_fetched:
        compiler = fetch_zig(scratch, compiler)
    (scratch / NOTE).write_text(note)
    injected = [
        f"-DCMAKE_PROJECT_llama_cpp_INCLUDE={(_HERE / 'libraries.cmake').as_posix()}",
        f"-DWINNOW_BUILD_NOTE={(scratch / NOTE).as_posix()}",
        f"-DWINNOW_ZIG={_zig(scratch).with_name('lib') if compiler.is_fetched else ''}",
    ]
    environment = {**os.environ, **commands(compiler), "CMAKE_ARGS": shlex.join([*injected, *options])}
    environment["ZIG_GLOBAL_CACHE_DIR"] = environment["ZIG_LOCAL_CACHE_DIR"] = str(scratch / "zig-cache")
    environment["TMPDIR"] = str(scratch)  # pip leaves its folders where it is killed
    folder = scratch / "wheel"
    # Without what is installed for C++ programs.
    more = (*more, "--config-settings=wheel.exclude=include/**;lib/**")
    run([*PIP, "wheel", "--no-deps", "--no-cache-dir", "--wheel-dir", str(folder), *more, source], environment)
    return next(folder.glob("*.whl"))


def commands(compiler: Compiler) -> dict[str, str]:
    """`CC` and `CXX` for CMake."""
    found = {"CC": shlex.join(compiler.cc), "CXX": shlex.join(compiler.cxx)}
    return {name: command for name, command in found.items() if command}


def fetch_zig(scratch: Path, compiler: Compiler) -> Compiler:
    """Let pip fetch zig's compiler, and make commands of it that CMake can call."""
    program = _zig(scratch)
    if not program.is_file():
        run([*PIP, "download", "--no-deps", "--only-binary", ":all:", "--dest", str(scratch), ZIG])
        with zipfile.ZipFile(next(scratch.glob("ziglang-*.whl"))) as wheel:
            wheel.extractall(scratch / "zig", [name for name in wheel.namelist() if not _OTHER_SYSTEMS.match(name)])
    if not program.is_file():
        raise BuildError(f"{ZIG} has no program at {program}; install clang 17 or newer, or set CC and CXX")
    program.chmod(0o755)
    names = {}
    for name in ("cc", "c++"):
        names[name] = scratch / f"zig-{name}"
        # With -O3 for CMake's checks too: zig builds what it links once for each level.
        command = [str(program), name, "-O3", "-g0", "-target", f"x86_64-linux-gnu.{GLIBC}"]
        names[name].write_text(
            "#!/bin/sh\n"
            """case " $* " in *" -c "*) ;; *) set -- "$@" -nostdlib++ ;; esac\n"""
            f"""exec {shlex.join(command)} "$@"\n"""
        )
        names[name].chmod(0o755)
    return Compiler(compiler.identity, [str(names["cc"])], [str(names["c++"])], compiler.options)


def _zig(scratch: Path) -> Path:
    """zig's program, beside its folder `lib`."""
    return scratch / "zig" / "ziglang" / "zig"


def tool(requirement: str, program: str) -> Sequence[str]:
    """The command that runs a program of PyPI; it needs uv."""
    return (sys.executable, "-m", "uv", "--quiet", "tool", "run", "--from", requirement, program)


def keep(wheel: Path, folder: Path) -> Path:
    """Move a wheel into a folder of the cache; a process that reads it there finds a whole one."""
    folder.mkdir(parents=True, exist_ok=True)
    passing = folder / f"{os.getpid()}.part"
    shutil.copyfile(wheel, passing)
    return passing.replace(folder / wheel.name)


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Run a command. Raises BuildError with the end of what it wrote if it fails."""
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        log = cache_folder() / "failed.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(done.stdout)
        lines = [line.strip() for line in done.stdout.splitlines()]
        telling = [line for line in lines if re.search("error|failed", line, re.IGNORECASE)] or lines
        seen = "\n".join(line[:_WIDTH] for line in telling[:_SHOWN])
        raise BuildError(f"`{shlex.join(command)}` failed, as {log} says:\n{seen}\n{remedy(command)}")


def remedy(command: Sequence[str]) -> str:
    """What to do about a command that failed."""
    if ZIG in command:
        return (
            "pip could not fetch zig's compiler. Try again, or see why it does not reach the package index. "
            "To do without it, install clang 17 or newer, or install g++ and set CC=gcc CXX=g++."
        )
    if "wheel" not in command:
        return ""
    return "Another compiler may do: set CC and CXX, for example CC=gcc CXX=g++."


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the scratch folder goes
    try:
        main()
    except BuildError as error:
        sys.exit(f"llama.cpp was not built: {error}")
