"""What holds for the units of any file whatever."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow_engine.core import UnitKind
from winnow_engine.index import syntax
from winnow_engine.index.languages.base import DATA_PIECE_BYTES, PIECE_BYTES
from winnow_engine.index.lines import Lines
from winnow_engine.index.symbols import FileSymbols, analyse

SAMPLES = sorted((Path(__file__).parent / "samples").iterdir())
SNIPPETS = [b"\r\n", b"\r", b"\t", b"\n\n", b"\0", b"\xff", b'"""', b"{", b"}", b"(", b"/*", b"#", b"<<A\n"] + [
    character.encode() for character in ("é", "漢", "😀", "\u2028", "\ufeff")
]


def assert_tiled(path: str, data: bytes) -> None:
    units, lines = analyse(path, data).units, Lines(data)
    assert b"".join(data[unit.start_byte : unit.end_byte] for unit in units) == data
    for index, unit in enumerate(units):
        assert (unit.start_byte, unit.end_byte) == lines.span(unit.start_line, unit.end_line)
        assert unit.parent is None or unit.parent < index


def mutated(data: bytes, seed: int) -> bytes:
    """The data after some deletions, insertions, repetitions and perhaps a cut."""
    chance, out = random.Random(seed), bytearray(data)
    for _ in range(chance.randint(1, 30)):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(4):
            case 0:
                del out[at : at + chance.randint(1, 20)]
            case 1:
                out[at:at] = chance.choice(SNIPPETS) * chance.choice([1, 2, 200])
            case 2:
                out[at:at] = out[at : at + chance.randint(1, 200)]
            case 3 if chance.random() < 0.1:
                del out[at:]
    return bytes(out)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_units_tile_a_damaged_file(sample: Path) -> None:
    for seed in range(25):
        assert_tiled(sample.name, mutated(sample.read_bytes(), seed))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_units_tile_a_file_cut_anywhere(sample: Path) -> None:
    data = sample.read_bytes()
    for end in range(0, len(data), 29):
        assert_tiled(sample.name, data[:end])


@settings(deadline=None)
@given(st.sampled_from([sample.name for sample in SAMPLES]), st.binary(max_size=300))
def test_units_tile_arbitrary_bytes(path: str, data: bytes) -> None:
    assert_tiled(path, data)


@settings(deadline=None)
@given(st.sampled_from(SAMPLES), st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=100, max_size=100))
def test_mixed_line_ends_do_not_move_units(sample: Path, ends: list[bytes]) -> None:
    rows = sample.read_bytes().split(b"\n")
    mixed = b"".join(row + end for row, end in zip(rows[:-1], ends, strict=False)) + rows[-1]
    found, expected = analyse(sample.name, mixed).units, analyse(sample.name, sample.read_bytes()).units
    assert [(u.start_line, u.end_line, u.name) for u in found] == [(u.start_line, u.end_line, u.name) for u in expected]


def test_a_long_function_stays_whole() -> None:
    body = b"".join(b"    x%d = %d\n" % (n, n) for n in range(500))
    (unit,) = analyse("a.py", b"def f():\n" + body).units
    assert unit.kind is UnitKind.FUNCTION


@pytest.mark.parametrize(
    ("path", "data", "most"),
    [
        ("a.py", b"".join(b"name_%d = [\n    1,\n\n    2,\n]\n" % n for n in range(400)), PIECE_BYTES),
        ("a.json", b"[\n" + b"  1,\n" * 2000 + b"  2\n]\n", DATA_PIECE_BYTES),
        ("a.toml", b"".join(b"[table.%d]\nvalue = 1\n" % n for n in range(400)), DATA_PIECE_BYTES),
        ("a.yaml", b"".join(b"name_%d:\n  value: 1\n" % n for n in range(400)), DATA_PIECE_BYTES),
        ("a.md", b"# Title\n\n" + b"Some words in a paragraph.\n\n" * 400, PIECE_BYTES),
        ("a.txt", b"word\n" * 3000, PIECE_BYTES),
        ("a.py", b"class A:\n" + b"".join(b"    field_%d: int = 0\n" % n for n in range(400)), PIECE_BYTES),
    ],
)
def test_other_long_runs_are_cut_to_pieces(path: str, data: bytes, most: int) -> None:
    sizes = [unit.end_byte - unit.start_byte for unit in analyse(path, data).units]
    assert max(sizes) <= most
    assert sorted(sizes)[1] >= most // 4  # but for the last, none is tiny


def test_the_rest_of_a_long_header_stands_under_its_beginning() -> None:
    data = b"class A:\n" + b"".join(b"    field_%d: int = 0\n" % n for n in range(200))
    units = analyse("a.py", data + b"\n    def f(self):\n        pass\n").units
    assert [unit.parent for unit in units] == [None, *[0] * (len(units) - 1)]
    assert {unit.name for unit in units} == {"A", "A.f"}


def test_text_in_no_language_is_cut_at_blank_lines() -> None:
    paragraph = b"word\n" * 150
    units = analyse("a.txt", (paragraph + b"\n") * 4).units
    assert {unit.kind for unit in units} == {UnitKind.BLOCK}
    assert [unit.start_line for unit in units] == [1, 303]


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.yaml", b"- " * 20_000),
        ("a.yaml", b"".join(b" " * depth + b"a:\n" for depth in range(400))),
        ("a.c", b"(" * 100_000),
    ],
)
def test_text_that_would_crash_or_stall_a_grammar_becomes_blocks(path: str, data: bytes) -> None:
    analysis = analyse(path, data)
    assert {unit.kind for unit in analysis.units} == {UnitKind.BLOCK}
    assert analysis.symbols == FileSymbols()


def test_a_grammar_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "TIME_LIMIT_S", 0.0)
    assert {unit.kind for unit in analyse("a.kt", b"<" * 50_000).units} == {UnitKind.BLOCK}


@pytest.mark.parametrize("data", [b"/*" * 100_000, b"if x:\n " * 20_000, b"x = " + b"[" * 5_000 + b"]" * 5_000])
def test_deep_nesting_is_survived(data: bytes) -> None:
    assert_tiled("a.py", data)


@pytest.mark.parametrize("data", [b"h#", b"sub f {}\nh#", b"<<n\n$u"])
def test_a_text_that_ends_in_an_open_line_does_not_hang_perls_grammar(data: bytes) -> None:
    assert_tiled("a.pl", data)


@pytest.mark.parametrize(
    ("pod", "first"),
    [
        (b"=pod\n\nAdds.\n\n=cut\n\n", 1),
        (b"=pod\n\n=cut\nmy $x;\n", 5),
        (b"=pod\n%s\n=cut\n\n" % (b"a\n" * 2000), 2005),
    ],
)
def test_perls_documentation_belongs_to_the_function_below_unless_it_is_long(pod: bytes, first: int) -> None:
    assert [unit.start_line for unit in analyse("a.pm", pod + b"sub f {}\n").units if unit.name] == [first]


FUNCTION = b"""\
x = 1


# Explains f.
@cache
def f(
    a: int,
    b: int,
) -> int:
    total = 0

    # Explains the loop.
    for i in range(a):
        total += i
        if total > b:
            break
    text = '''

    not a statement
    '''
    return total
"""
