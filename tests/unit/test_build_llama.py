"""How llama.cpp is built: which compiler, for which instruction sets, and what the cache goes by."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DEBIAN_CLANG_14 = "Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\nThread model: posix\n"
DEBIAN_CLANG_19 = "Debian clang version 19.1.7 (3~deb12u1)\nTarget: x86_64-pc-linux-gnu\nThread model: posix\n"
UBUNTU_CLANG = "Ubuntu clang version 18.1.3 (1ubuntu1)\nTarget: x86_64-pc-linux-gnu\n"
FEDORA_CLANG = "clang version 20.1.8 (Fedora 20.1.8-4.fc42)\nTarget: x86_64-redhat-linux-gnu\n"
GCC = "gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n"
SAPPHIRE_RAPIDS = (
    "processor\t: 0\nflags\t\t: fpu sse4_2 avx f16c fma avx2 bmi2 avx512f avx512dq avx512cd avx512bw avx512vl avx_vnni "
    "avx512_bf16 avx512vbmi avx512_vnni amx_bf16 avx512_fp16 amx_tile amx_int8\n"
)
SKYLAKE_X = "flags\t\t: fpu sse4_2 avx f16c fma avx2 bmi2 avx512f avx512dq avx512cd avx512bw avx512vl\n"
ALDER_LAKE = "flags\t\t: fpu sse4_2 avx f16c fma avx2 bmi2 avx_vnni\nvmx flags\t: vnmi ept\n"
HASWELL = "flags\t\t: fpu sse4_2 avx f16c fma avx2 bmi2\n"
IVY_BRIDGE = "flags\t\t: fpu sse4_2 avx f16c\n"
# Of Vulkan's headers: Debian 12 has 1.3.239, which lack what llama.cpp uses.
NEW, OLD = "VK_EXT_layer_settings", "VK_EXT_validation_features"
ARM = "processor\t: 0\nFeatures\t: fp asimd aes asimddp\n"


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, in an environment that sets nothing of what it reads."""
    for name in ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_ARGS", "WINNOW_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(ROOT / "engine" / "winnow_llama")
    spec = importlib.util.spec_from_file_location("build_llama", ROOT / "engine" / "winnow_llama" / "build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "build_llama", module)
    spec.loader.exec_module(module)
    return module


def have(folder: Path, monkeypatch: pytest.MonkeyPatch, **programs: str) -> None:
    """A PATH on which there are these compilers only; each prints its text. `xx` in a name stands for `++`."""
    for name, says in programs.items():
        program = folder / name.replace("xx", "++").replace("_", "-")
        program.write_text(f"#!/bin/sh\nexec /bin/cat <<'END'\n{says}END\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize(
    ("programs", "identity", "cc"),
    [
        (
            {"clang": UBUNTU_CLANG, "clangxx": UBUNTU_CLANG, "cc": GCC},
            "Ubuntu clang version 18.1.3 (1ubuntu1)",
            "clang",
        ),
        ({"clang": FEDORA_CLANG, "clangxx": FEDORA_CLANG}, FEDORA_CLANG.splitlines()[0], "clang"),
        (
            {
                "clang": DEBIAN_CLANG_14,
                "clangxx": DEBIAN_CLANG_14,
                "clang_19": DEBIAN_CLANG_19,
                "clangxx_19": DEBIAN_CLANG_19,
            },
            "Debian clang version 19.1.7 (3~deb12u1)",
            "clang-19",
        ),
        ({"clang": DEBIAN_CLANG_14, "clangxx": DEBIAN_CLANG_14, "cc": GCC}, "ziglang==0.17.1", None),
        ({"clang": DEBIAN_CLANG_19, "cc": GCC}, "ziglang==0.17.1", None),  # without its C++ half
        ({}, "ziglang==0.17.1", None),
    ],
)
def test_the_best_compiler_at_hand_is_chosen(
    build: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    programs: dict[str, str],
    identity: str,
    cc: str | None,
) -> None:
    have(tmp_path, monkeypatch, **programs)
    monkeypatch.setattr(build, "zig_runs_here", lambda: True)
    compiler = build.choose({})
    assert compiler.identity == identity
    assert build.commands(compiler).get("CC") == (cc and str(tmp_path / cc))


@pytest.mark.parametrize(
    ("cpuinfo", "options"),
    [
        (SAPPHIRE_RAPIDS, ["-DGGML_AVX512=ON", "-DGGML_AVX512_VBMI=ON", "-DGGML_AVX512_VNNI=ON"]),
        (SKYLAKE_X, []),
        (ALDER_LAKE, []),
        (HASWELL, []),
        (IVY_BRIDGE, ["-DGGML_AVX2=OFF", "-DGGML_BMI2=OFF", "-DGGML_FMA=OFF"]),
        (ARM, []),
        ("", []),
    ],
)
def test_instruction_sets_are_named_and_never_native(
    build: ModuleType, tmp_path: Path, cpuinfo: str, options: list[str]
) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    assert build.instruction_sets(tmp_path / "cpuinfo") == ["-DGGML_NATIVE=OFF", *options]


def test_the_wheel_of_another_build_is_not_taken(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    compilers = build.Compiler("clang version 19"), build.Compiler("clang version 20")
    notes = [build.describe(compiler, options) for compiler in compilers for options in ([], ["-DGGML_AVX512=ON"])]
    monkeypatch.setenv("CFLAGS", "-O1")
    notes.append(build.describe(compilers[0], []))
    assert len({build.wheel_folder(note) for note in notes}) == len(notes)
    (tmp_path / "llama.whl").write_text("built")
    kept = build.keep(tmp_path / "llama.whl", build.wheel_folder(notes[0]))
    assert build.cached_wheel(notes[0]) == kept
    assert kept.read_text() == "built"
    assert [build.cached_wheel(note) for note in notes[1:]] == [None] * 4


def test_the_cache_is_winnows(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    from winnow_engine.storage.folders import cache_folder

    monkeypatch.setattr(build.sys, "platform", "linux")
    for environment in ({}, {"XDG_CACHE_HOME": "/x"}, {"WINNOW_CACHE_DIR": "~/y"}):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            assert build.cache_folder(os.environ) == cache_folder() / "wheels"


@pytest.fixture
def machine(build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a test puts the GPUs, programs and headers of a Linux machine that has none yet."""
    for name, place in {"_ROCM": "kfd", "_RENDERERS": "dri"}.items():
        monkeypatch.setattr(build.gpus, name, tmp_path / place)
    monkeypatch.setattr(build.gpus, "_INCLUDES", (tmp_path / "include",))
    monkeypatch.setattr(build.sys, "platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def put(machine: Path, *names: str) -> None:
    for name in names:
        (machine / name).parent.mkdir(parents=True, exist_ok=True)
        (machine / name).write_text("#!/bin/sh\n")
        (machine / name).chmod(0o755)


@pytest.mark.parametrize(
    ("there", "options"),
    [
        ((), []),
        (("dri/renderD128", "glslc", NEW), ["-DGGML_VULKAN=ON"]),
        (("dri/renderD128", "glslc", OLD), []),
        (("dri/renderD128", NEW), []),
        (("dri/renderD128", "glslc"), []),
        (("glslc", NEW), []),
        (("kfd", "hipcc", "dri/renderD128", "glslc", NEW), ["-DGGML_HIP=ON"]),
        (("kfd", "dri/renderD128", "glslc", NEW), ["-DGGML_VULKAN=ON"]),
        (("hipcc",), []),
    ],
)
def test_a_gpu_counts_where_it_can_be_compiled_for(
    build: ModuleType, machine: Path, there: tuple[str, ...], options: list[str]
) -> None:
    put(machine, *(one for one in there if one not in (NEW, OLD)))
    for extension in {NEW, OLD} & {*there}:
        put(machine, "include/vulkan/vulkan.hpp")
        (machine / "include/vulkan/vulkan_core.h").write_text(f"#define {extension} 1\n")
    assert build.gpus.options({}) == options
    assert build.gpus.has_wheel({}, options) is not bool(options)
    assert build.gpus.has_wheel({"WINNOW_WHEELS": "http://127.0.0.1:9/whl/cu130"}, options)
    cuda = {"CMAKE_ARGS": "-DGGML_CUDA=ON"}
    assert (build.gpus.options(cuda), build.gpus.has_wheel(cuda, [])) == ([], False)


def test_a_build_for_a_gpu_that_fails_is_followed_by_one_without(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built = []

    def fake(_compiler: object, options: list[str], _note: str) -> Path:
        built.append([one for one in options if "VULKAN" in one])
        if built[-1]:
            raise build.BuildError("glslc is too old")
        return tmp_path / "llama.whl"

    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "installed_version", lambda: None)
    monkeypatch.setattr(build, "build", fake)
    monkeypatch.setattr(build, "run", lambda command: built.append(command[-1]))
    monkeypatch.setattr(build.gpus, "options", lambda _: ["-DGGML_VULKAN=ON"])
    monkeypatch.setenv("WINNOW_WHEELS", "http://127.0.0.1:9/whl/cpu")  # has none for a GPU
    build.main()
    monkeypatch.delenv("WINNOW_WHEELS")
    assert built == [["-DGGML_VULKAN=ON"], [], str(tmp_path / "llama.whl")]
    assert "glslc is too old\nllama.cpp was not built with -DGGML_VULKAN=ON" in capsys.readouterr().out
    monkeypatch.setattr(build.gpus, "options", lambda _: [])
    monkeypatch.setattr(build, "build", lambda *_: (_ for _ in ()).throw(build.BuildError("no compiler")))
    with pytest.raises(build.BuildError, match="no compiler"):
        build.main()


def test_a_command_that_fails_says_why_and_what_to_do(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(build.BuildError, match=r"(?s)no such option.*Another compiler may do: set CC and CXX"):
        build.run([sys.executable, "-m", "pip", "wheel", "--nonsense"])
    nowhere = ["install", "--no-deps", "--target", str(tmp_path), "--isolated", "--no-index", build.ZIG]
    with pytest.raises(build.BuildError, match=r"(?s)No matching distribution.*To do without it, install clang 17"):
        build.run([sys.executable, "-m", "pip", *nowhere])
    assert "No matching distribution" in (tmp_path / "cache" / "wheels" / "failed.txt").read_text()


def test_git_is_asked_for_before_anything_is_fetched(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    have(tmp_path, monkeypatch)
    with pytest.raises(build.BuildError, match=r"^git is needed to patch llama\.cpp: install it$"):
        build.build(build.Compiler(build.ZIG), [], "")
