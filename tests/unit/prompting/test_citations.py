import pytest

from winnow_engine.core import Citation, Span, UnitKind
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.citations import cite

CODE = "def resolve(name):\n    found = lookup(name)\n    return found or None\n" + "# filler\n" * 20


def file(path: str) -> IndexedFile:
    return IndexedFile.of(path, path, CODE.encode())


WORKSPACE = Workspace((file("src/core.py"), file("src/utils.py"), file("tests/utils.py"), file("Makefile")))
SPANS = (Span("src/core.py", 1, 3, 20, 1.0, UnitKind.FUNCTION, "Group.resolve"),)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("See src/core.py:2.", [Citation("src/core.py", 2, 2)]),
        ("See `core.py:2-3` there", [Citation("src/core.py", 2, 3)]),
        ("src/core.py:5–7", [Citation("src/core.py", 5, 7)]),
        ("utils.py:3 could be two files", []),
        ("src/core.py:99999 is past the end, src/core.py:0 before it", []),
        ("gone.py:1", []),
        ("(Makefile:2)", [Citation("Makefile", 2, 2)]),
        ("```\n2     found = lookup(name)\n    return found or None\n```", [Citation("src/core.py", 2, 3)]),
        ("```\n   10 found = lookup(name)\n```", [Citation("src/core.py", 2, 2)]),
        ("`Group.resolve` does it", [Citation("src/core.py", 1, 3)]),
        ("it calls resolve(name)", [Citation("src/core.py", 1, 3)]),
        ("to resolve it", []),
        ("```python\n  found = lookup(name)\n  return found or None\n```", [Citation("src/core.py", 2, 3)]),
        ("src/core.py:1-3, see `resolve`, src/core.py:2", [Citation("src/core.py", 1, 3)]),
    ],
)
def test_citations(answer: str, expected: list[Citation]) -> None:
    assert list(cite(answer, WORKSPACE, SPANS)) == expected


def test_a_quoted_line_that_stands_in_two_places_is_the_one_whose_next_lines_are_quoted() -> None:
    code = "def format(self):\n    return first(self)\n\ndef format(self):\n    return second(self)\n"
    other = IndexedFile.of("f.py", "f.py", code.encode())
    spans = [Span("f.py", 1, 5, 9, 0.0, UnitKind.TOP_LEVEL)]
    second = "```\ndef format(self):\n    return second(self)\n```"
    assert cite(second, Workspace((other,)), spans) == (Citation("f.py", 4, 5),)
    assert cite("```\ndef format(self):\n```", Workspace((other,)), spans) == (Citation("f.py", 1, 1),)


def test_quotes_count_lines_as_editors_do() -> None:
    code = "a = 1\n\f\nresult = compute(everything)\n"
    other = IndexedFile.of("f.py", "f.py", code.encode())
    span = Span("f.py", 1, 3, 9, 0.0, UnitKind.TOP_LEVEL)
    cited = cite("```\nresult = compute(everything)\n```", Workspace((other,)), [span])
    assert cited == (Citation("f.py", 3, 3),)
