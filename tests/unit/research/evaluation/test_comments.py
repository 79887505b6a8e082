"""What counts as a fair first sentence."""

import pytest

from winnow_research.evaluation.comments import first_sentence, names


@pytest.mark.parametrize(
    ("documentation", "name", "sentence"),
    [
        ("Return the widest of\n    all columns. More.", "fit", "Return the widest of all columns."),
        ("drainBatch takes all items that fit in here.\nMore.", "drainBatch", "takes all items that fit in here."),
        (
            "Looks up the nearest match by distance.\n\n@param x the x",
            "find",
            "Looks up the nearest match by distance.",
        ),
        ("Too short.", "f", None),
        ("Runs the drain batch loop until it is empty.", "drain_batch", None),
        ("Copyright 2020 by the authors of this file", "f", None),
        ("TODO make this thing faster than it is", "f", None),
    ],
)
def test_first_sentence(documentation: str, name: str, sentence: str | None) -> None:
    assert first_sentence(documentation, name) == sentence


@pytest.mark.parametrize(
    ("sentence", "name", "given_away"),
    [
        ("Reads the header of a file.", "read_header", False),
        ("Calls read_header for each file.", "read_header", True),
        ("Read header by header.", "readHeader", True),
        ("Copies the target.", "get", False),
        ("We get it.", "get", True),
    ],
)
def test_a_sentence_gives_a_name_away(sentence: str, name: str, given_away: bool) -> None:
    assert names(sentence, name) is given_away
