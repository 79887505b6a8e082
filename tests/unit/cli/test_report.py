from winnow_engine.selection.ranking import SelectionStats
from winnow_engine.targets.answer import Stats
from winnow_engine.targets.base import Generation
from winnow_lsp.cli.report import notice_lines, stats_line
from winnow_lsp.host.reply import flat_stats

STATS = Stats(
    selection=SelectionStats(100_000, 2_600, 100_000),
    generation=Generation("", "eos", 3000, 0, 12.0, 12.0, 50, 49 / 14.125),
    stages={"read": 0.1234, "prefill": 12.0},
    ttft_s=12.1234,
    places={"drafter": "cpu", "target": "cpu"},
    target_host=None,
    prefill_tokens_per_s=None,
)


def test_a_selection_has_the_same_fields_as_an_answer() -> None:
    selection = SelectionStats(100_000, 2_600, 100_000, 4_000, 0.75, {"read": 0.5})
    flat = flat_stats(selection)
    assert flat.keys() == flat_stats(STATS).keys()
    assert (flat["budget_tokens"], flat["stages"]) == (4_000, {"read": 0.5})
    assert (flat["ttft_s"], flat["prompt_tokens"]) == (None, 0)
    assert stats_line(flat) == "workspace 100,000 tokens · kept 2,600 · read 0.50"


def test_an_index_that_is_not_complete_is_said_how_to_complete() -> None:
    complete, early = (flat_stats(SelectionStats(100_000, 2_600, tokens)) for tokens in (100_000, 8_000))
    assert list(notice_lines(["so"], complete)) == ["note: so"]
    assert list(notice_lines(["10 s (`winnow.patience`)"], complete)) == ["note: 10 s (--set patience)"]
    assert "`winnow index`" in list(notice_lines(["so"], early))[1]
    assert "shared server" in list(notice_lines(["so"], early, by_server=True))[1]
