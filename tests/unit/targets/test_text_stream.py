from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.targets.text_stream import TextStream


def stream(pieces: list[bytes], *stops: str) -> list[str]:
    """The text shown after each piece, and at the end."""
    text = TextStream(stops)
    shown = []
    for piece in pieces:
        shown.append(text.feed(piece))
        if text.stopped:
            break
    return [*shown, text.flush()]


@pytest.mark.parametrize(
    ("pieces", "stops", "shown"),
    [
        (["🦊".encode()[:1], "🦊".encode()[1:3], "🦊".encode()[3:]], (), ["", "", "🦊", ""]),
        ([b"ok ", "世".encode()[:2]], (), ["ok ", "", ""]),  # incomplete to the end
        ([b"a\xffb"], (), ["a\ufffdb", ""]),  # no UTF-8
        ([b"one\n", b"EN", b"D two"], ("\nEND",), ["one", "", "", ""]),
    ],
)
def test_only_whole_characters_are_shown_and_no_part_of_a_stop(pieces: Any, stops: Any, shown: list[str]) -> None:
    assert stream(pieces, *stops) == shown


@pytest.mark.parametrize("stops", [("aab",), ("ab", "ba"), ("aaa", "b"), ("é🦊",), ()])
@given(data=st.data())
def test_the_way_of_cutting_into_pieces_changes_nothing(stops: tuple[str, ...], data: st.DataObject) -> None:
    whole = data.draw(st.text("abé🦊", max_size=30))
    raw = whole.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=10)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    expected = min((whole[: whole.find(stop)] for stop in stops if stop in whole), key=len, default=whole)
    assert "".join(stream(pieces, *stops)) == expected
