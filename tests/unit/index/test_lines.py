"""The line table."""

from __future__ import annotations

import pytest

from winnow_engine.index.lines import Lines


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


def test_a_span_runs_from_the_first_line_to_the_end_of_the_last() -> None:
    lines = Lines(b"one\r\ntwo\nthree")
    assert (lines.span(1, 2), lines.span(3, 3), lines.size(2, 3)) == ((0, 9), (9, 14), 9)
