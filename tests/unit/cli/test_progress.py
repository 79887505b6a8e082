"""What is shown while an answer is on its way."""

import sys
from collections.abc import Callable

import pytest

from winnow_engine.core import Kept, Progress, Span, UnitKind
from winnow_lsp.cli import report
from winnow_lsp.cli.report import ProgressView

INDEXING = Progress("index", 3, 10, tokens=2_000, total_tokens=6_000, elapsed_s=2.0)


def spans(count: int) -> list[Span]:
    numbers = range(1, count + 1)
    return [Span(f"shop/part{n}.py", n, n + 9, 40, float(n), UnitKind.FUNCTION, f"part{n}") for n in numbers]


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it in a test: capsys has another stderr while fixtures are made."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "50")
    return lambda: monkeypatch.setattr(sys.stderr, "isatty", lambda: True)


def test_the_best_places_are_listed_and_the_others_counted(
    on_terminal: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    on_terminal()
    with ProgressView() as view:
        view.kept(Kept.of(spans(2), None, provisional=True))
        assert "found so far" in capsys.readouterr().err
        view.kept(Kept.of(spans(10), 18.0))
        shown = [line.strip() for line in capsys.readouterr().err.splitlines() if "part" in line]
        assert len(shown) == 8
        assert "shop/part10.py:10-19" in shown[0]
        assert shown[0].endswith("function part10\x1b[0m")
        view.say("reading 2,900 tokens, about 18 s")
        view.kept(Kept.of(spans(10), 18.0))
        err = capsys.readouterr().err
        assert "and 2 more" in err
        assert "reading 2,900 tokens, about 18 s" in err
    _, erased, after = capsys.readouterr().err.rpartition("\x1b[2K")
    assert (erased, "part" in after) == ("\x1b[2K", False), "the list is erased before the answer"


@pytest.mark.parametrize("is_terminal", [False, True])
def test_where_nothing_can_be_redrawn_there_is_a_line_now_and_then(
    is_terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.setattr(report, "_SECONDS_BETWEEN_LINES", -1.0)
    with ProgressView() as view:
        view(INDEXING)
        view.kept(Kept.of(spans(2), 18.0))
        view.part = "2 of 9: "
        view.say("reading 2,900 tokens, about 18 s")
    indexing, reading = capsys.readouterr().err.splitlines()
    assert indexing == "indexing 3 of 10 files, 1,000 tokens/s, about 4 s"
    assert reading == "2 of 9: reading 2,900 tokens, about 18 s"


def test_a_stderr_that_the_caller_closed_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with ProgressView() as view:
        view(INDEXING)
        view.kept(Kept.of(spans(1), 18.0))
