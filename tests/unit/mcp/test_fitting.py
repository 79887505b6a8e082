"""Results within a budget of tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.errors import BudgetError
from winnow_lsp.mcp.results import Outlined, OutlineEntry, fitted, text_of

ENTRIES = st.lists(st.text(max_size=30).map(lambda name: OutlineEntry(path=name, kind="file")), max_size=30)


def made(entries: list[OutlineEntry], total: int) -> Outlined:
    return Outlined(entries=entries, left_out=total - len(entries))


@given(entries=ENTRIES, budget=st.integers(40, 1200))
def test_as_much_as_fits_and_never_more(entries: list[OutlineEntry], budget: int) -> None:
    found = fitted(lambda some: made(list(some), len(entries)), entries, budget, len)
    kept = len(found.entries)
    assert found.entries == entries[:kept]
    assert len(text_of(found)) <= budget
    assert kept == len(entries) or len(text_of(made(entries[: kept + 1], len(entries)))) > budget


def test_what_does_not_even_fit_empty_is_refused() -> None:
    with pytest.raises(BudgetError, match="raise the budget"):
        fitted(lambda some: made(list(some), 0), [], 10, len)
