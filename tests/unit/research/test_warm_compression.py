"""How the study of warm compression adds up a conversation."""

from winnow_research.studies.warm_compression import summary


def row(compression: str, prompt: int, evaluated: int) -> dict[str, object]:
    return {"compression": compression, "prompt": prompt, "evaluated": evaluated, "seconds": 1.0, "answer": "Yes."}


def test_tokens_in_memory_are_counted_for_all_turns_and_since_the_first_choice() -> None:
    found = summary([row("none", 100, 100), row("none", 200, 100), row("new", 150, 150), row("kept", 250, 50)])
    assert found["whole"] == {"turns": 4, "prompt": 700, "evaluated": 400, "cached": 0.4286, "seconds": 4.0}
    assert found["since_first_choice"] == {"turns": 2, "prompt": 400, "evaluated": 200, "cached": 0.5, "seconds": 2.0}
    assert found["choices"] == 1
    assert "answer" not in found["turns"][0]


def test_a_conversation_that_was_never_cut_has_no_turns_since() -> None:
    assert summary([row("none", 100, 100)])["since_first_choice"]["cached"] is None
