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


def test_a_character_split_over_pieces_is_shown_once_complete() -> None:
    emoji = "🦊".encode()
    assert stream([emoji[:1], emoji[1:3], emoji[3:]]) == ["", "", "🦊", ""]


def test_an_incomplete_character_at_the_end_is_dropped() -> None:
    assert "".join(stream([b"ok ", "世".encode()[:2]])) == "ok "


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    assert "".join(stream([b"a\xffb"])) == "a\ufffdb"


def test_a_stop_string_over_pieces_is_never_partly_shown() -> None:
    assert stream([b"one\n", b"EN", b"D two"], "\nEND") == ["one", "", "", ""]


@pytest.mark.parametrize("stops", [("aab",), ("ab", "ba"), ("aaa", "b"), ("é🦊",), ()])
@given(data=st.data())
def test_the_way_of_cutting_into_pieces_changes_nothing(stops: tuple[str, ...], data: st.DataObject) -> None:
    whole = data.draw(st.text("abé🦊", max_size=30))
    raw = whole.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=10)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    expected = min((whole[: whole.find(stop)] for stop in stops if stop in whole), key=len, default=whole)
    assert "".join(stream(pieces, *stops)) == expected
