"""The registry of languages."""

from __future__ import annotations

import subprocess
import sys

import pytest

from winnow_engine.index import languages


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/a.py", "python"),
        ("A.PY", "python"),
        ("a.d.ts", "typescript"),
        ("deep/er/Rakefile", "ruby"),
        (".bashrc", "bash"),
        ("include/a.h", "cpp"),
        ("docker/Dockerfile", "dockerfile"),
        ("Makefile", "make"),
        ("lib/Makefile.am", "make"),
        ("Dockerfile.dev", "dockerfile"),
        ("analysis.R", "r"),
        ("App.vue", "component"),
    ],
)
def test_a_language_is_found_by_name_or_suffix(path: str, name: str) -> None:
    language = languages.for_path(path)
    assert language is not None
    assert language.name == name


@pytest.mark.parametrize(
    ("path", "first", "name"),
    [
        ("bin/retry", "#!/bin/sh -e", "bash"),
        ("bin/retry", "#! /usr/bin/env -S python3.11 -u", "python"),
        (".retry", "#!/usr/local/bin/node", "javascript"),
        ("debian/rules", "#!/usr/bin/make -f", "make"),
        ("bin/retry.py", "#!/bin/sh", "python"),
        ("bin/retry.tcl", "#!/bin/sh", None),
        ("bin/retry", "#!/opt/retry/run", None),
        ("bin/retry", "# bash", None),
    ],
)
def test_a_script_without_suffix_names_its_program(path: str, first: str, name: str | None) -> None:
    language = languages.for_file(path, f"{first}\n".encode())
    assert (language and language.name) == name


def test_knowing_the_languages_loads_no_grammar() -> None:
    code = (
        "import sys; from winnow_engine.index import languages; languages.for_path('a.py');"
        "print([name for name in sys.modules if name.startswith('tree_sitter')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
