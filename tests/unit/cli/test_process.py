import subprocess
import sys
from pathlib import Path

import pytest

from winnow_lsp.process import prepare

AVX512 = "flags : fpu avx2 avx512f avx512dq avx512cd avx512bw avx512vl\n"


@pytest.mark.parametrize(
    ("cpuinfo", "environment", "expected"),
    [
        ("vendor_id : AuthenticAMD\n" + AVX512, {}, "SkylakeX"),
        ("vendor_id : AuthenticAMD\nflags : fpu avx2\n", {}, None),
        ("vendor_id : GenuineIntel\n" + AVX512, {}, None),
        ("vendor_id : AuthenticAMD\n" + AVX512, {"OPENBLAS_CORETYPE": "Haswell"}, "Haswell"),
        ("", {}, None),
    ],
)
def test_avx512_is_chosen_only_where_openblas_misses_it(
    tmp_path: Path, cpuinfo: str, environment: dict[str, str], expected: str | None
) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    prepare(environment, tmp_path / "cpuinfo")
    assert environment.get("OPENBLAS_CORETYPE") == expected


def test_folders_mean_the_same_to_a_process_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    given = {"WINNOW_CACHE_DIR": "cache", "WINNOW_MODELS_DIR": "~/models"}
    environment = {**given, "NUMBA_CACHE_DIR": ""}
    prepare(environment, tmp_path / "missing")
    assert environment["WINNOW_CACHE_DIR"] == str(tmp_path / "cache")
    assert environment["WINNOW_MODELS_DIR"] == "/home/me/models"
    assert environment["NUMBA_CACHE_DIR"] == ""


@pytest.mark.parametrize(("own", "expected"), [({}, "numba"), ({"NUMBA_CACHE_DIR": "/mine"}, "/mine")])
def test_compiled_code_is_shared_by_all_environments_unless_the_user_says_where_it_lies(
    tmp_path: Path, own: dict[str, str], expected: str
) -> None:
    environment = {"WINNOW_CACHE_DIR": str(tmp_path), **own}
    prepare(environment, tmp_path / "missing")
    assert environment["NUMBA_CACHE_DIR"] == str(tmp_path / expected)  # an absolute path stays as it is


def test_modules_load_almost_without_collections_of_garbage() -> None:
    told = "gc.callbacks.append(lambda phase, _: print(phase, file=sys.stderr)); sys.argv = ['winnow', 'spans', '-h']"
    code = f"import gc, sys; from winnow_lsp.__main__ import run; {told}; run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert done.stderr.count(b"start") < 10
