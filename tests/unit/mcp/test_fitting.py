"""Results as pages, within a budget of tokens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.core import Citation
from winnow_engine.errors import BudgetError
from winnow_lsp.mcp.results import (
    CodeSpan,
    Explained,
    FoundCode,
    ModelAnswer,
    Outlined,
    OutlineEntry,
    Related,
    ToolResult,
    fitted,
)

ENTRIES = st.lists(st.text(max_size=30).map(lambda name: OutlineEntry(path=name, kind="file")), max_size=30)


def made(entries: list[OutlineEntry], total: int) -> Outlined:
    return Outlined(entries=entries, left_out=total - len(entries))


@given(entries=ENTRIES, budget=st.integers(80, 1200))
def test_as_much_as_fits_and_never_more(entries: list[OutlineEntry], budget: int) -> None:
    found = fitted(lambda some: made(list(some), len(entries)), entries, budget, len)
    kept = len(found.entries)
    assert found.entries == entries[:kept]
    assert len(found.page()) <= budget
    assert kept == len(entries) or len(made(entries[: kept + 1], len(entries)).page()) > budget


def test_what_does_not_even_fit_empty_is_refused() -> None:
    with pytest.raises(BudgetError, match="raise the budget"):
        fitted(lambda some: made(list(some), 1), [], 10, len)


PLACE: dict[str, Any] = {"path": "src/a.py", "start_line": 1, "end_line": 2}
CODE = 'def total():\n    return "1"'
SPAN = CodeSpan(**PLACE, name="total", kind="function", score=0.0, text=CODE + "\n\n")
USE = Related(name="total", path="b.py", line=3, inside="pay", text="total()")
PAGES: list[tuple[ToolResult, str]] = [
    (
        FoundCode(spans=[SPAN, SPAN.model_copy(update={"name": "", "start_line": 2})], index_complete=True),
        f"src/a.py:1-2 function total\n{CODE}\n\nsrc/a.py:2 function\n{CODE}",
    ),
    (
        FoundCode(spans=[SPAN], index_complete=True, notices=["x", "y"]),
        f"Note: x\nNote: y\n\nsrc/a.py:1-2 function total\n{CODE}",
    ),
    (
        Explained(**PLACE, inside=["total"], uses=[], used_by=[USE], left_out=1200),
        "src/a.py:1-2 total\n\nused by:\nb.py:3 total (in pay): total()\n1,200 more: a larger budget shows them",
    ),
    (
        Explained(**PLACE, inside=["total"], uses=[], used_by=[], left_out=0),
        "src/a.py:1-2 total\nnothing is related to it by name",
    ),
    (
        Outlined(
            entries=[
                OutlineEntry(path="src/", kind="folder", files=1),
                OutlineEntry(path="a.py", kind="file", lines=2, defines=["A", "b"]),
                OutlineEntry(path="e.py", kind="file", lines=0, defines=[]),
                OutlineEntry(path="a.py", kind="function", name="b", start_line=1, end_line=2),
            ],
            left_out=0,
        ),
        "src/ 1 file\na.py 2 lines: A, b\ne.py 0 lines\na.py:1-2 function b",
    ),
    (
        ModelAnswer(answer="So.", complete=False, citations=[Citation("src/a.py", 1, 2)], rests_on=[]),
        "So.\n(The answer was cut off at its longest.)\n\nCited:\nsrc/a.py:1-2",
    ),
]


@pytest.mark.parametrize(("result", "page"), PAGES)
def test_a_page_has_places_and_code_as_it_is(result: ToolResult, page: str) -> None:
    assert result.page() == page
