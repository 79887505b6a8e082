import pytest

from winnow_engine.errors import NotJsonError
from winnow_engine.untrusted import read_json


@pytest.mark.parametrize(
    ("text", "unfinished"),
    [
        ("", True),
        ('{"a": ', True),
        ('["a', True),
        ('{"a" 1}', False),
        ("[1] 2", False),
        (b"\xff\xfe\xff", False),
        ("9" * 5000, False),
        ("[" * 100_000, False),
        ('{"a":' * 100_000, False),
    ],
    ids=["empty", "no value", "no quote", "no colon", "more", "no text", "digits", "lists", "objects"],
)
def test_what_is_no_json_has_one_name_and_says_if_more_could_make_it_some(text: str | bytes, unfinished: bool) -> None:
    with pytest.raises(NotJsonError, match=r"\w") as raised:
        read_json(text)
    assert raised.value.unfinished == unfinished


def test_options_are_those_of_json() -> None:
    assert read_json('["a\nb"]', strict=False) == ["a\nb"]
    with pytest.raises(NotJsonError, match="NaN"):
        read_json("NaN", parse_constant=int)
