from urllib.parse import quote

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


PATHS = (
    "app/(auth)/login/page.tsx",
    "app/[slug]/page.tsx",
    "docs/My Notes.md",
    "src/a.py",
    "src/a.pyi",
    "docs/übersicht.md",
)
FORMS = (
    "`{}:2`", "{}:2", "`{}`:2", "{}:L2", "{}#L2", "{}, line 2", "[the place]({}#L2)", "{}:2:5", "{} line 2",
    "{}(2)", "**{}**:2", "({}:2).", "`{}` (line 2)", "at line 2 of `{}`", "{}:2, and", "./{}:2", "<{}#L2>", "@{}:2",
    "File \"{}\", line 2, in f", "https://github.com/o/r/blob/feature/x/{}#L2", "https://github.com/o/r/blob/1a2b/{}?plain=1#L2",
)  # fmt: skip
RANGES = ("`{}:2-4`", "{}:2–4", "{}:L2-L4", "{}#L2-L4", "{} lines 2 to 4", "{}:2..4", "`{}`, lines 2–4", "{}#L2C1-L4C9")


@pytest.mark.parametrize("path", PATHS)
def test_places_in_all_forms_of_all_paths(path: str) -> None:
    workspace = Workspace(tuple(map(file, PATHS)))
    for forms, end in ((FORMS, 2), (RANGES, 4)):
        for form in forms:
            for name in (path, path.replace("/", "\\"), quote(path)):
                answer = f"See {form.format(name)} there"
                assert (answer, cite(answer, workspace, ())) == (answer, (Citation(path, 2, end),))


@pytest.mark.parametrize(
    "answer",
    [
        "At 12:30 it runs 3:2 against http://localhost:80/core.py:2 with python:3.11",
        "other/core.py:2, xcore.py:2, x_core.py:2 and core.pyx:2",
        "src/core.py:2.5 and src/core.py: 2 errors, Makefile (2)",
        "https://github.com/o/r/blob/main/other/core.py#L2",
        "core.py:" * 20_000 + " " * 20_000 + ":2",
    ],
)
def test_what_is_no_place_is_not_cited(answer: str) -> None:
    assert cite(answer, WORKSPACE, ()) == ()


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
