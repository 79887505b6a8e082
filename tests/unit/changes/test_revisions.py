import pytest

from winnow_engine.question import without_mention


@pytest.mark.parametrize(
    ("text", "rest", "changes"),
    [
        ("@changes What broke?", "What broke?", "working"),
        ("  @staged\nWhat broke?", "What broke?", "staged"),
        ("@branch", "", "branch"),
        ("@commit Why?", "Why?", "commit"),
        ("@commit:HEAD~3 Why?", "Why?", "HEAD~3"),
        ("@changes:main...topic Why?", "Why?", "main...topic"),
        ("@when did it start?", "did it start?", "when"),
        ("@when", "", "when"),
        ("@when:main did it start?", "@when:main did it start?", None),
        ("@whenever it rains", "@whenever it rains", None),
        ("What does @commit do?", "What does @commit do?", None),
        ("@committed is what?", "@committed is what?", None),
        ("@changes: is what?", "@changes: is what?", None),
        ("@param is what?", "@param is what?", None),
    ],
)
def test_a_change_is_mentioned_first(text: str, rest: str, changes: str | None) -> None:
    assert without_mention(text) == (rest, changes)
