import pytest

from winnow_engine.core import Cursor
from winnow_engine.questions import Topic, ask_about

AT = Cursor("a.py", 3, 3)


@pytest.mark.parametrize("topic", Topic)
def test_every_topic_names_the_symbol_or_the_selection(topic: Topic) -> None:
    assert "`Dog.bark`" in ask_about(topic, AT, "Dog.bark").text
    assert "the selected code" in ask_about(topic, AT).text
    assert ask_about(topic, AT).cursor == AT


def test_problems_are_listed_and_cut() -> None:
    text = ask_about(Topic.DIAGNOSTIC, AT, "f", ["undefined name {x}", "y" * 5000]).text
    assert "\n- undefined name {x}\n- yyy" in text
    assert len(text) < 1200
