"""What a small but realistic file of each language is cut into.

`expected_units/SAMPLE.txt` has a line for each unit of `samples/SAMPLE`: kind, name (- for none), first and last line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from winnow_engine.core import Unit
from winnow_engine.index import languages
from winnow_engine.index.languages.base import Language
from winnow_engine.index.languages.table import LANGUAGES
from winnow_engine.index.symbols import analyse

SAMPLES = Path(__file__).parent / "samples"
EXPECTED_UNITS = Path(__file__).parent / "expected_units"
NAMES = sorted(sample.name for sample in SAMPLES.iterdir())


def row(unit: Unit) -> str:
    return f"{unit.kind} {unit.name or '-'} {unit.start_line}-{unit.end_line}"


@pytest.mark.parametrize("sample", NAMES)
def test_a_sample_is_cut_into_its_units(sample: str) -> None:
    units = analyse(sample, (SAMPLES / sample).read_bytes()).units
    found = "".join(f"{row(unit)}\n" for unit in units)
    expected = EXPECTED_UNITS / f"{sample}.txt"
    assert expected.exists(), f"{expected} is missing; {sample} is cut into:\n{found}"
    assert found == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("line_end", [b"\r\n", b"\r"])
@pytest.mark.parametrize("sample", NAMES)
def test_line_ends_do_not_change_units_or_symbols(sample: str, line_end: bytes) -> None:
    with_lf = (SAMPLES / sample).read_bytes()
    expected, found = analyse(sample, with_lf), analyse(sample, with_lf.replace(b"\n", line_end))
    assert [row(unit) for unit in found.units] == [row(unit) for unit in expected.units]
    assert found.symbols == expected.symbols


def test_methods_stand_under_their_class() -> None:
    units = analyse("python.py", (SAMPLES / "python.py").read_bytes()).units
    parents = {unit.name: units[unit.parent].name for unit in units if unit.parent is not None}
    assert parents == {
        "TokenBucket.__init__": "TokenBucket",
        "TokenBucket.level": "TokenBucket",
        "TokenBucket.Lease": "TokenBucket",
        "TokenBucket.Lease.release": "TokenBucket.Lease",
    }


def test_a_subsection_stands_under_its_section() -> None:
    units = analyse("markdown.md", (SAMPLES / "markdown.md").read_bytes()).units
    parents = [(unit.name, units[unit.parent].name) for unit in units if unit.parent is not None]
    assert parents == [("Install", "Guide"), ("Use `run`", "Guide"), ("Options", "Use `run`"), ("Appendix", "Guide")]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_every_language_has_a_sample(language: Language) -> None:
    assert any(languages.for_path(name) == language for name in NAMES)
