from winnow_engine.core import counted, day


def test_one_is_singular_and_thousands_are_parted() -> None:
    assert counted(0, "file") == "0 files"
    assert counted(1, "more line") == "1 more line"
    assert counted(2_000, "unit") == "2,000 units"


def test_a_day_is_that_of_greenwich() -> None:
    assert [day(seconds) for seconds in (0, 86_399, 86_400)] == ["1970-01-01", "1970-01-01", "1970-01-02"]
