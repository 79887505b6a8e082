"""What winnow_llama adds to llama.cpp is in the library that is loaded; patches apply, or say what is wrong."""

from __future__ import annotations

import ctypes
import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from llama_cpp import llama_cpp as bindings

from winnow_engine.llama.patched_functions import build_note

from . import ggml

ROOM = Path(__file__).parents[2] / "engine" / "winnow_llama"
# A symbol that only this piece brings. Parts of another header, and what has no header, have none of their own.
PIECES = {
    "cpu/few_tokens.h": "winnow_multiply_rows",
    "cpu/many_tokens.h": "winnow_multiply_many",
    "cpu/attention.h": "winnow_has_attention",
    "cpu/q4_k.h": "winnow_gemm_q4_K",
    "cuda/few_tokens.cuh": "winnow_has_few_tokens_cuda",
    "context/kept_graphs.h": "winnow_has_kept_graphs",
    "context/choices.h": "winnow_choices",
    "context/trunk.h": "winnow_set_trunk",
}


sys.path.insert(0, str(ROOM))
patches = importlib.import_module("patches")
del sys.path[0]


def library(piece: str) -> ctypes.CDLL:
    """The library that a piece belongs to. Skips where this processor, or this build, has no use for the piece."""
    folder, information = Path(bindings._lib._name).parent, bindings.llama_print_system_info()
    if "cuda" in piece:
        return ctypes.CDLL(str(next(folder.glob("libggml-cuda.*"), None) or pytest.skip("built without CUDA")))
    if not piece.startswith("cpu/"):
        return bindings._lib
    wide, vnni = b"AVX512 = 1" in information, b"AVX512_VNNI = 1" in information
    used = {"cpu/q4_k.h": not wide, "cpu/few_tokens.h": vnni or not wide, "cpu/many_tokens.h": vnni}
    if not used.get(piece, True) or b"AVX2 = 1" not in information:
        pytest.skip("another processor")
    return ggml.cpu_library()


@pytest.mark.parametrize("piece", PIECES)
def test_each_piece_is_in_the_library(piece: str) -> None:
    if f"recipe {patches.recipe()}" not in build_note():
        pytest.skip("llama.cpp was not built from these sources")
    assert hasattr(library(piece), PIECES[piece])


@pytest.mark.skipif(sys.platform != "linux", reason="zig compiles for Linux")
def test_mathematics_are_the_systems() -> None:
    """zig's own `expf` is slower, and rounds otherwise: `libraries.cmake` keeps it out of what computes."""
    folder = Path(bindings._lib._name).parent
    for library in (*folder.glob("libggml-[bc]*.so"), folder / "libllama.so"):
        assert b"\0expf\0" in library.read_bytes(), f"{library} imports no expf"


@pytest.mark.parametrize("name", ["patches.py", "libraries.cmake", "cpu/lanes.h", "cuda/few_tokens.cuh"])
def test_another_recipe_builds_another_wheel(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "_HERE", shutil.copytree(ROOM, tmp_path / "room"))
    before = patches.recipe()
    with (tmp_path / "room" / name).open("a") as file:
        file.write("#\n")
    assert patches.recipe() != before


@pytest.mark.parametrize("number", ["0001", "0006", "0010"])
def test_what_is_for_upstream_is_a_mail_without_our_names(number: str, tmp_path: Path) -> None:
    [patch] = (patch for patch in patches.series() if patch.name.startswith(number))
    with patch.open() as mail:
        found = subprocess.check_output(["git", "mailinfo", "body", "changes"], cwd=tmp_path, stdin=mail, text=True)
    assert re.search(r"^Subject: (ggml-cpu|CUDA|llama) : [a-z]", found, re.MULTILINE)
    assert (tmp_path / "body").read_text().strip()
    assert "winnow" not in (tmp_path / "changes").read_text().lower()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources that one patch is for, in somebody's repository, with the `.git` that the distribution has."""
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "series").mkdir()
    (tmp_path / "series" / "0001-count.patch").write_text(
        "Count further\n---\ndiff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    )
    tree = tmp_path / "vendor" / "llama.cpp"
    tree.mkdir(parents=True)
    (tree / "a.c").write_text("one\ntwo\nthree\n")
    (tree / ".git").write_text("gitdir: ../../nowhere\n")
    monkeypatch.setattr(patches, "series", lambda: sorted((tmp_path / "series").iterdir()))
    return tree


def test_sources_and_patches_are_put_in_once(tree: Path) -> None:
    for _ in range(2):
        patches.prepare(tree)
    assert (tree / "a.c").read_text() == "one\n2\nthree\n"
    for folder, place in patches._PLACES.items():
        assert {file.name for file in (tree / place).iterdir()} == {file.name for file in (ROOM / folder).iterdir()}


def test_a_patch_that_does_not_apply_is_named_with_its_file(tree: Path) -> None:
    (tree / "a.c").write_text("one\n22\nthree\n")
    with pytest.raises(patches.PatchError, match=r"0001-count\.patch does not apply(?s:.)*llama\.cpp/a\.c:1"):
        patches.prepare(tree)
    assert (tree / "a.c").read_text() == "one\n22\nthree\n"


def test_git_is_asked_for_where_there_is_none(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tree))
    assert shutil.which("git") is None
    with pytest.raises(patches.PatchError, match="git is needed"):
        patches.prepare(tree)
