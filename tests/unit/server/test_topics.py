import pytest

from winnow_engine.question import Cursor, Question
from winnow_lsp.server.wire.messages import Topic, ask_about

AT = Cursor("a.py", 3, 3)


@pytest.mark.parametrize("topic", Topic)
def test_every_topic_names_the_symbol_or_the_selection(topic: Topic) -> None:
    assert "`Dog.bark`" in ask_about(topic, AT, "Dog.bark").text
    assert "the selected code" in ask_about(topic, AT).text
    assert ask_about(topic, AT).cursor == AT


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("explain", True),
        ("What happens here?", True),
        ("Who uses the selected code?", True),
        ("Why are these three needed?", True),
        (ask_about(Topic.CODE, AT, "f").text, True),
        (ask_about(Topic.DIAGNOSTIC, AT, "f", ["undefined"]).text, True),
        (ask_about(Topic.USAGE, AT, "f").text, False),
        ("How does this project test itself?", False),
        ("Where are widgets frobnicated?", False),
        ("What inherits from thistle?", False),
        ("Which code validates this field anywhere in the repo?", False),
        ("Where is `parse` used here?", False),
        ("Does this function call `parse`?", True),
        ("What does this do with `parse`?", True),
        ("Was macht diese Funktion?", True),
        ("¿Qué hace este proyecto?", False),
        ("Что делает этот проект?", False),
        ("这个函数做什么？", True),
    ],
)
def test_only_words_that_point_at_the_cursor_are_about_its_code(text: str, about: bool) -> None:
    assert Question(text, AT).is_about_cursor == about
    assert not Question(text).is_about_cursor
