"""What is thought and what is answered does not depend on where a stream is cut, and no marker is shown."""

import random

import pytest

from winnow_engine.targets.text_stream import MARKERS, Markers, ThoughtStream

THINK, GPT_OSS = MARKERS[0], MARKERS[-1]
PIECES = [*"<>/|[]thinkTHINK \n", "think", "</", "<|", "ü", "🦊", "code `x < y`", "analysis", "final", "<|channel|>"]
STREAMS = 2000


def split(pieces: list[str], markers: tuple[Markers, ...] = MARKERS, inside: Markers | None = None) -> tuple[str, str]:
    """The thought and the answer, in that order."""
    thought: list[str] = []
    stream = ThoughtStream(markers, thought.append, inside)
    answer = "".join([*map(stream.feed, pieces), stream.end()])
    kept = stream.thought(3)
    assert (kept.text if kept else "") == "".join(thought)
    return "".join(thought), answer


def cut_anywhere(text: str, rng: random.Random) -> list[str]:
    borders = sorted(rng.sample(range(1, len(text)), rng.randint(0, len(text) - 1)))
    return [text[start:end] for start, end in zip([0, *borders], [*borders, len(text)], strict=True)]


def random_text(rng: random.Random, markers: Markers, most: int = 40) -> str:
    """Text full of parts of markers, but with no closing one in it."""
    text = "".join(rng.choices(PIECES, k=rng.randint(0, most)))
    while markers.closing in text:
        text = text.replace(markers.closing, "")
    return text.strip()


def test_two_thousand_random_streams_leak_nothing() -> None:
    rng = random.Random(22)
    for _ in range(STREAMS):
        markers = rng.choice(MARKERS)
        # A thought must not end in what begins its closing marker by chance, nor an answer begin with a marker.
        thought = random_text(rng, markers) + "."
        answer = f"Answer: {random_text(rng, markers)} {rng.choice([markers.opening, markers.closing, ''])}".rstrip()
        begun = rng.random() < 0.3
        space = rng.choice(["", "\n", "\n\n", " "])
        text = f"{'' if begun else space + markers.opening}{space}{thought}{space}{markers.closing}{space}{answer}"
        known = rng.choice([MARKERS, (markers,)])
        found = split(cut_anywhere(text, rng), known, markers if begun else None)
        assert found == (thought.strip(), answer), (text, found)


@pytest.mark.parametrize("markers", MARKERS, ids=lambda markers: markers.opening)
def test_a_marker_may_be_cut_at_every_border(markers: Markers) -> None:
    text = f"{markers.opening}\nbecause 1 < 2\n{markers.closing}\n\nSo it is `<` here."
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            pieces = [text[:first], text[first:second], text[second:]]
            assert split(pieces) == ("because 1 < 2", "So it is `<` here.")


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("<think>\n\n</think>\n\nYes.", "", "Yes."),
        ("</think>\n\nYes.", "", "Yes."),
        ("<think>one</think>\n<think>two</think>\nYes.", "onetwo", "Yes."),
        ("<think>one\n", "one", ""),
        ("<think>one</thi", "one</thi", ""),
        ("<|channel|>final<|message|>Yes.", "", "Yes."),
        ("<|channel|>commentary<|message|>Yes.", "", "Yes."),
        (f"<|channel|>analysis<|message|>one{GPT_OSS.ending}Yes.", "one", "Yes."),
        (
            f"{GPT_OSS.opening}one{GPT_OSS.closing}<|start|>assistant<|channel|>commentary to=functions.f {{}}",
            *("one", "to=functions.f {}"),
        ),
    ],
)
def test_what_models_also_do(text: str, thought: str, answer: str) -> None:
    assert split(list(text)) == split([text]) == (thought, answer)


def test_what_a_server_has_told_apart_goes_with_markers_that_it_left() -> None:
    stream = ThoughtStream(MARKERS)
    for piece in ("", "\n", "First ", "", "this.", "\n\n"):
        stream.add(piece)
    assert stream.feed("\n\nYes.") + stream.end() == "Yes."
    thought = stream.thought(4)
    assert thought is not None
    assert (thought.text, thought.tokens) == ("First this.", 4)
    assert thought.seconds >= 0


def test_a_thought_that_goes_on_in_the_answer_leaves_no_marker() -> None:
    rng = random.Random(5)
    for _ in range(300):
        markers = rng.choice(MARKERS)
        more = random_text(rng, markers, 20)
        ending = markers.ending.strip()
        answer = f"So {more} {ending}it is{rng.choice(['', ending[:3]])}"
        stream = ThoughtStream(MARKERS, inside=markers)
        assert stream.feed("Hm") + stream.feed(stream.end_thought()) == ""
        shown = "".join([*map(stream.feed, cut_anywhere(answer, rng)), stream.end()])
        assert shown == f"So {more} it is"
