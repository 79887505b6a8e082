"""Numbers behind the sentences of an answer, and the lines of these numbers."""

import pytest
from attributed import sentences_of

from winnow_engine.core import Citation, Sentence
from winnow_lsp.host.footnotes import FootnoteStream, footnoted, raised

ANSWER = (
    "Sure! It adds all the lines. Then it calls `sumUp` here.\n\n- It rounds to whole cents.\n- It never ends, no place"
)
A, B = Citation("a.py", 3, 9), Citation("b.py", 4, 4)


def sentences() -> list[Sentence]:
    places = {1: ((A, B), 0.9), 2: ((), 0.1), 3: ((A, B), 0.8), 4: ((), 0.2)}
    at = ANSWER.index("sumUp")
    unknown = {2: ((at, at + 5),)}
    return [
        Sentence(start, end, *places.get(n, ((), None)), unknown.get(n, ()))
        for n, (start, end) in enumerate(sentences_of(ANSWER))
    ]


def test_lines_with_the_same_places_are_one() -> None:
    text, *lines = footnoted(ANSWER, sentences(), [A, B, Citation("c.py", 1, 2)])
    assert text == (
        "Sure! It adds all the lines.[1] Then it calls `sumUp` here.[2]\n\n- It rounds to whole cents.[3]\n"
        "- It never ends, no place[4]"
    )
    assert lines == [
        ["[1][3] a.py:3-9, b.py:4", "c.py:1-2"],
        ["[2][4] not found in the code shown", "`sumUp` is no name in this workspace"],
    ]  # fmt: skip


@pytest.mark.parametrize("step", [1, 3, 7])
def test_numbers_stand_at_the_same_places_however_the_text_is_cut(step: int) -> None:
    stream = FootnoteStream(raised)
    text = "".join(stream.feed(ANSWER[at : at + step]) for at in range(0, len(ANSWER), step)) + stream.end()
    whole = footnoted(ANSWER, [], [])[0]
    for number, mark in zip("1234", "¹²³⁴", strict=True):
        whole = whole.replace(f"[{number}]", mark)
    assert text == whole
