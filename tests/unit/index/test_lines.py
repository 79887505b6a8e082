"""The line table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.index.lines import Lines, with_lf

MIXED_ENDS = st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", "é".encode()])).map(b"".join)


@pytest.mark.parametrize(
    ("data", "starts"),
    [
        (b"", ()),
        (b"a", (0,)),
        (b"a\n", (0,)),
        (b"a\nb", (0, 2)),
        (b"a\r\nb", (0, 3)),
        (b"a\rb", (0, 2)),
        (b"\n\r\r\n", (0, 1, 2)),
    ],
)
def test_lf_crlf_and_cr_end_a_line(data: bytes, starts: tuple[int, ...]) -> None:
    assert Lines(data).starts == starts


@given(MIXED_ENDS)
def test_every_byte_is_in_the_span_of_its_line(data: bytes) -> None:
    lines = Lines(data)
    for byte in range(len(data)):
        start, end = lines.span(lines.line_of(byte), lines.line_of(byte))
        assert start <= byte < end


@given(MIXED_ENDS)
def test_lf_line_ends_keep_the_lines(data: bytes) -> None:
    assert Lines(with_lf(data)).count == Lines(data).count
    assert with_lf(data).splitlines() == data.splitlines()


def test_a_span_runs_from_the_first_line_to_the_end_of_the_last() -> None:
    lines = Lines(b"one\r\ntwo\nthree")
    assert lines.span(1, 2) == (0, 9)
    assert lines.span(3, 3) == (9, 14)
    assert lines.size(2, 3) == 9


def test_a_byte_past_the_end_is_on_the_last_line() -> None:
    assert Lines(b"a\nb\n").line_of(99) == 2
