"""Results as pages, within a budget of tokens."""

from hypothesis import given
from hypothesis import strategies as st

from winnow_lsp.mcp.results import Outlined, OutlineEntry, fitted

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
