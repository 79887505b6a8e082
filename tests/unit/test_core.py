from winnow_engine.core import counted


def test_one_is_singular_and_thousands_are_parted() -> None:
    assert counted(0, "file") == "0 files"
    assert counted(1, "more line") == "1 more line"
    assert counted(2_000, "unit") == "2,000 units"
