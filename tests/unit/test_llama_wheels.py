"""The index of wheels that engine/winnow_llama makes, and installing from it."""

from __future__ import annotations

import importlib
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path
from types import ModuleType

import pytest

ROOM = Path(__file__).parents[2] / "engine" / "winnow_llama"


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script, with the others of its folder beside it, none of which stays imported."""
    monkeypatch.syspath_prepend(ROOM)
    before = set(sys.modules)
    yield importlib.import_module("wheels")
    for name in {"wheels", "build", "cuda_wheel", "gpus", "patches", "rebase"} - before:
        sys.modules.pop(name, None)


@pytest.fixture
def index(wheels: ModuleType, tmp_path: Path) -> Path:
    """An index with a wheel that holds little."""
    label = f"{wheels._VERSION}+{wheels.LABEL}"
    wheel = tmp_path / f"llama_cpp_python-{label}-py3-none-any.whl"
    information = f"llama_cpp_python-{label}.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("llama_cpp/__init__.py", f'__version__ = "{label}"\n')
        file.writestr("llama_cpp/lib/winnow-build.txt", "zig\n")
        file.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: llama_cpp_python\nVersion: {label}\n")
        file.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{information}/RECORD", "")
    return Path(wheels.add(wheel, tmp_path / "whl").parents[1])


@pytest.fixture
def build(wheels: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script that installs, into a folder and from nowhere but the index."""
    build: ModuleType = wheels.build
    run, aside = build.run, ["--isolated", "--target", str(tmp_path / "installed")]
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "run", lambda command: run([*command, *aside]))
    return build


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--cuda"], ["--index", "out"]])
def test_usage_is_told_where_arguments_are_missing(
    wheels: ModuleType, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["wheels.py", *arguments])
    with pytest.raises(SystemExit, match="--cuda OUT"):
        wheels.main()


def test_the_wheel_of_an_index_is_installed(build: ModuleType, index: Path, tmp_path: Path) -> None:
    assert build.fetched(index.as_uri())
    assert (tmp_path / "installed" / "llama_cpp" / "__init__.py").is_file()


def test_without_a_wheel_there_is_a_build(
    build: ModuleType, index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not build.fetched("")
    monkeypatch.setattr(build, "LLAMA", "llama-cpp-python==0.0.1")
    assert not build.fetched(index.as_uri())
    assert "llama.cpp is built here instead" in capsys.readouterr().out


def test_the_source_carries_the_label_and_loads_its_backends(
    wheels: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / f"llama_cpp_python-{wheels._VERSION}" / "llama_cpp" / "__init__.py"

    def unpack(_requirement: str, _folder: Path) -> None:
        package.parent.mkdir(parents=True)
        package.write_text(f'__version__ = "{wheels._VERSION}"\n')

    monkeypatch.setattr(wheels, "unpack", unpack)
    for _ in range(2):
        wheels.labelled_source(tmp_path)
    text = package.read_text()
    assert text.startswith(f'__version__ = "{wheels._VERSION}+{wheels.LABEL}"\n')
    assert text.count("ggml_backend_load_all_from_path") == 1


def test_other_patches_are_put_into_fresh_sources(
    wheels: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Path] = []

    def compiled(source: str, *_: object) -> Path:
        built.append(Path(source))
        return tmp_path / "made.whl"

    monkeypatch.setattr(wheels, "labelled_source", lambda folder: folder)
    monkeypatch.setattr(wheels.build, "zig_runs_here", lambda: False)
    monkeypatch.setattr(wheels.build, "compiled", compiled)
    for recipe in ("one", "two", "two"):
        monkeypatch.setattr(wheels.patches, "recipe", lambda recipe=recipe: recipe)
        wheels.build_wheel(tmp_path)
    assert built == [tmp_path / "one", tmp_path / "two", tmp_path / "two"]


def test_wheels_that_others_built_become_one_index(
    wheels: ModuleType, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["wheels.py", "--index", str(tmp_path / "all"), str(tmp_path)])
    (tmp_path / "winnow_weights_adapter-1.0.0-py3-none-any.whl").touch()
    wheels.main()
    index = tmp_path / "all" / "whl" / "cpu"
    assert "%2Bwinnow" in (index / "llama-cpp-python" / "index.html").read_text()
    assert "adapter-1.0.0" in (index / "winnow-weights-adapter" / "index.html").read_text()
    projects = (index / "index.html").read_text()
    assert (
        projects.count("href") == projects.count("llama-cpp-python/") + projects.count("winnow-weights-adapter/") == 2
    )


@pytest.mark.parametrize(("named", "built"), [([], "86-real;89-real;90;120-real"), (["90"], "90")])
def test_a_wheel_for_gpus_is_the_other_with_a_library_and_requirements(
    wheels: ModuleType, index: Path, named: list[str], built: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site := tmp_path / "site").mkdir()

    def library(folder: Path, source: Path, architectures: str) -> Path:
        assert (source.parent, architectures) == (folder, built)
        (folder / "libggml-cuda.so").touch()
        return folder / "libggml-cuda.so"

    monkeypatch.setattr(wheels.build, "TAG", "any")
    monkeypatch.setattr(wheels.cuda_wheel.platform, "libc_ver", lambda: ("glibc", "2.34"))
    monkeypatch.setattr(wheels, "build_wheel", lambda folder: next(index.rglob("*.whl")))
    monkeypatch.setattr(wheels, "labelled_source", lambda folder: folder)
    monkeypatch.setattr(wheels.cuda_wheel, "library", library)
    monkeypatch.setattr(sys, "argv", ["wheels.py", "--cuda", str(site), str(site), *named])
    wheels.main()
    [made] = (site / "whl" / "cu130").rglob("*.whl")
    assert made.name.endswith("+winnow1.cu130-py3-none-manylinux_2_34_x86_64.whl")
    with zipfile.ZipFile(made) as opened:
        opened.extractall(site)
    found = Distribution.at(next(site.glob("*.dist-info")))
    assert found.requires == ["nvidia-cublas>=13.0,<14", "nvidia-cuda-runtime>=13.0,<14"]
    assert list(map(str, found.files or ())) == opened.namelist()
    assert (site / "llama_cpp" / "__init__.py").read_text() == f'__version__ = "{found.version}"\n'
    assert (site / "llama_cpp" / "lib" / "winnow-build.txt").read_text() == f"zig\nCUDA 13.0, {built}\n"


def test_a_patch_that_the_next_version_has_is_dropped(
    wheels: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rebase, series = importlib.import_module("rebase"), tmp_path / "series"
    series.mkdir()
    for name, line in {"a": "one", "b": "two"}.items():
        change = f"--- a/{name}.c\n+++ b/{name}.c\n@@ -1 +1 @@\n-{line}\n+{line * 2}\n"
        (series / f"{name}.patch").write_text(f"Double {name}\n---\ndiff --git a/{name}.c b/{name}.c\n{change}")

    def commit_sources(repository: Path, version: str) -> None:
        (repository / "a.c").write_text("oneone\n" if version == "new" else "one\n")
        (repository / "b.c").write_text("two\n")
        rebase.commit(repository, version)

    monkeypatch.setattr(rebase, "commit_sources", commit_sources)
    monkeypatch.setattr(rebase, "series", lambda: sorted(series.iterdir()))
    monkeypatch.setattr(sys, "argv", ["rebase.py", "new", str(tmp_path / "repository")])
    rebase.main()
    assert capsys.readouterr().out == "a.patch is in llama.cpp already: dropped\n1 patches apply to new\n"
    assert [patch.name for patch in series.iterdir()] == ["b.patch"]
    assert "+twotwo\n" in (series / "b.patch").read_text()
