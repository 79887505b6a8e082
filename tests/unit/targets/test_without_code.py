from winnow_engine.core import Span, UnitKind
from winnow_engine.targets.answer import without_code


def test_the_nearest_places_are_named_best_first_where_nothing_answers() -> None:
    spans = [Span(f"{n}.py", n, n + 1, 1, float(n), UnitKind.FUNCTION, name) for n, name in enumerate("abcd", 1)]
    said = without_code([*spans[:3], spans[3]]).text
    assert said.splitlines()[-3:] == ["- `4.py:4` d", "- `3.py:3` c", "- `2.py:2` b"]
